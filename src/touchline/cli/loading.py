"""How does a listed command become one that runs? Its module is imported when the command is asked for, not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from touchline.cli.app import COMMANDS, Listed, print_version, root_help


class Shelf(Mapping[str, Any]):
    """The commands by name, each loaded when it is taken."""

    def __init__(self, listed: tuple[Listed, ...] = COMMANDS) -> None:
        self._listed = {each.name: each for each in listed}

    def __getitem__(self, name: str) -> Any:
        return loaded(self._listed[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


class Root(TyperGroup):
    """The root as the command-line library sees it."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the library's signature
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:  # noqa: ARG002
        return root_help()


def root() -> Any:
    """The command line with all its commands, none of them loaded."""
    app = typer.Typer(
        cls=Root,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    made: Any = get_command(app)
    made.commands = Shelf()
    return made


def loaded(command: Listed) -> Any:
    """The command itself."""
    module, _, name = command.where.partition(":")
    found = getattr(import_module(module), name)
    if isinstance(found, typer.Typer):
        return get_group(found)
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command(command.name)(found)
    return get_command(alone)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """The root's own options: `app.run` answers them when they come first; here, the shell completes them."""
