"""`touchline init`: looks at the repository and this machine, and writes a settings file to begin with."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import JsonOption


def init(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a touchline.toml that is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the file and leave.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a touchline.toml at the root of this git repository, from what is found here.

    Finds the agents that are installed and whether they start, the repository's commands for tests, build and style,
    and which sandbox works. Shows the file, asks, writes it, and says what to do next.

    \b
    Exit codes:
      0  written (or shown, with --dry-run)
      1  you said no
      2  no git repository, the file is there already, it cannot be written, or nobody can be asked
    """
    from touchline.cli.init_actions import run

    run(yes=yes, force=force, dry_run=dry_run, as_json=as_json)
