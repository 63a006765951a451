"""`touchline tasks`: the tasks of a specification, and what waits for what."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

tasks = typer.Typer(
    help="The tasks of a specification: list, show, graph.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="SPEC is an id or its beginning, or the folder; the newest specification when it is left out.",
)

SpecArgument = Annotated[str, typer.Argument(metavar="[SPEC]", help="Its id or folder; the newest without one.")]


@tasks.command("list")
def list_them(spec: SpecArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """All tasks in an order in which they can be done.

    \b
    Exit codes:
      0  shown
      2  there is no such specification, or tasks.md is broken; file and line are named
    """
    from touchline.cli.tasks_output import print_list

    print_list(place_of(database), spec, as_json=as_json)


@tasks.command("show")
def show(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's id, such as T-001.")],
    spec: SpecArgument = "",
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """One task: what is required, how it is checked, what it waits for, and what waits for it."""
    from touchline.cli.tasks_output import print_one

    print_one(place_of(database), spec, task, as_json=as_json)


@tasks.command("graph")
def graph(
    spec: SpecArgument = "",
    dot: Annotated[bool, typer.Option("--dot", help="For Graphviz.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """What can run side by side, wave by wave, and what each task waits for."""
    from touchline.cli.tasks_output import print_graph

    print_graph(place_of(database), spec, dot=dot, as_json=as_json)
