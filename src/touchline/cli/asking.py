"""May a person be asked? Only one who sits at a terminal; nothing ever waits for an answer that cannot come."""

from __future__ import annotations

import os
import sys

from touchline.cli.exits import Exit
from touchline.errors import InputError


def may_ask() -> bool:
    """Both ends are a terminal, and no CI runs us."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def agree(question: str) -> None:
    """Go on when the person says yes; else leave with `Exit.FOUND`. InputError where nobody can be asked."""
    import typer

    if not may_ask():
        raise InputError("Nobody can be asked here.", hint="Nothing was changed. Give --yes to agree beforehand.")
    if not typer.confirm(question, err=True):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(Exit.FOUND)
