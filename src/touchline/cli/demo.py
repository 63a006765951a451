"""`touchline demo`: a scripted agent under real supervision, or the audit of sample sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    audit: Annotated[
        bool, typer.Option("--audit", help="Audit sample sessions of real agents instead, and write the page.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="With --audit: where the page is written.")
    ] = Path("out"),
    build: Annotated[
        bool, typer.Option("--build", help="From a brief to a small program instead: specified, built, tested.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Leave repository and database there, to look around."),
    ] = None,
) -> None:
    """Watch a scripted agent that hedges, loops and forgets, and what Touchline does about each. Under 30 seconds.

    Needs no agent CLI, no key and no network. Only the model's words are scripted: the commands, the tests, the sandbox
    and the resumed conversation are real.

    \b
    Exit codes:
      0  it went as it should
      1  it did not: something on this machine stands in the way, and the result says what
    """
    from touchline.cli.demo_run import audit_samples, play

    if audit:
        audit_samples(out)
    elif build:
        from touchline.cli.demo_build import play_build

        raise typer.Exit(play_build(keep))
    else:
        raise typer.Exit(play(keep))
