"""Which commands are there? The root of the command line; every command lives in its own module."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline import __version__
from touchline.cli.audit import audit
from touchline.cli.db import db
from touchline.cli.decide import decide
from touchline.cli.demo import demo
from touchline.cli.doctor import doctor
from touchline.cli.events import events
from touchline.cli.worker import worker

app = typer.Typer(
    help="Touchline stands at the touchline while coding agents work: it checks every “done” against what the agent "
    "really did.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"touchline {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with: touchline audit        See it at work first: touchline demo")
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


app.command(no_args_is_help=False)(audit)
app.command()(decide)
app.command()(demo)
app.command()(doctor)
app.command()(worker)
app.add_typer(db, name="db")
app.add_typer(events, name="events")
