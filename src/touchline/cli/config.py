"""`touchline config`: what is set here, where it comes from, and what a project's file may decide."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import JsonOption

config = typer.Typer(
    help="The settings: show, path, explain, trust. Flag > environment > touchline.toml > your own file > default.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _complete_key(incomplete: str) -> list[str]:
    from touchline.settings.keys import keys

    return [name for name in keys() if name.startswith(incomplete)]


@config.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Also say where each value came from.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the settings that hold in this folder.

    \b
    Exit codes:
      0  printed
      2  a settings file is wrong; the message says where
    """
    from touchline.cli.config_output import print_settings

    print_settings(origin=origin, as_json=as_json)


@config.command()
def path(as_json: JsonOption = False) -> None:
    """Say which files are read, and whether they are there.

    \b
    Exit codes:
      0  printed
    """
    from touchline.cli.config_output import print_paths

    print_paths(as_json=as_json)


@config.command()
def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as run.agent.", autocompletion=_complete_key)],
    as_json: JsonOption = False,
) -> None:
    """Say what a setting means, what it may be, how to set it, and what it is here.

    \b
    Exit codes:
      0  printed
      2  there is no such setting
    """
    from touchline.cli.config_output import print_key

    print_key(key, as_json=as_json)


@config.command()
def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Take the trust back.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let this project's touchline.toml decide what it may not decide by itself.

    Commands to run, the sandbox, agents' flags and variables, the database and the judging model count from a project's
    file only when you have seen them. Shows them, asks, and remembers your answer for exactly these values.

    \b
    Exit codes:
      0  trusted, or nothing needs trust
      1  you said no
      2  nobody can be asked here, or a settings file is wrong
      3  the project has no touchline.toml
    """
    from touchline.cli.trust_actions import run

    run(yes=yes, forget=forget, as_json=as_json)
