"""`touchline rehearse`: a scripted model for real agent CLIs; no key, no cost, no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def rehearse(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="What the model says: a YAML file.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="What to run, after two dashes.")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(
            "--home", metavar="DIR", help="Home folder of the CLIs. Default: an empty one, removed at the end."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="Port of the server. Default: a free one.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON; the command's output goes to standard error.")
    ] = False,
) -> None:
    """Run a real agent CLI against a scripted model: no key, no cost, no network.

    \b
    With a command, every CLI that it starts talks to the script:
      touchline rehearse script.yaml -- claude -p "Create hello.py"
    Without one, serves until Ctrl-C and prints what to export for each CLI:
      touchline rehearse script.yaml

    The CLIs get a home folder of their own: your keys, settings and sessions are not used.

    \b
    Exit codes:
      0, or the command's own
      2  the script or an option is wrong; the message says where

    The script: docs/reference/rehearsal-script.md
    """
    from touchline.cli.rehearse_output import run, serve
    from touchline.rehearsal.script import load_script

    loaded = load_script(script)
    if command:
        raise typer.Exit(run(loaded, command, home=home, port=port, as_json=as_json))
    serve(loaded, home=home, port=port, as_json=as_json)
