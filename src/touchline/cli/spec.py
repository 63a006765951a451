"""`touchline spec`: from a brief to a specification that a person approves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

spec = typer.Typer(
    help="Specifications: new, show, edit, approve, revise.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="SPEC is an id or its beginning, or the folder; the newest specification when it is left out.",
)

SpecArgument = Annotated[str, typer.Argument(metavar="[SPEC]", help="Its id or folder; the newest without one.")]
RepositoryOption = Annotated[
    Path | None,
    typer.Option("--repository", metavar="FOLDER", help="Where it will be built. Default: the one you are in."),
]
ModelOption = Annotated[
    str,
    typer.Option("--model", metavar="LINE", help="Who writes it, such as cli:claude. Default: TOUCHLINE_MODEL."),
]


@spec.command()
def new(
    source: Annotated[
        Path, typer.Argument(metavar="BRIEF|FOLDER", help="A brief, or an idea's folder with planning/brief.md.")
    ],
    repository: RepositoryOption = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="Where the files go. Default: specs/<its name>.")
    ] = None,
    model: ModelOption = "",
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Write spec.md and tasks.md from a brief. Needs a model.

    Reads the brief, the repository's own rules (CLAUDE.md, AGENTS.md), its lessons in .touchline/lessons, and the code.
    Both files may be edited by hand afterwards.

    \b
    Examples:
      touchline spec new brief.md
      touchline spec new ideas/notes --model cli:claude

    \b
    Exit codes:
      0  written, and ready for approval
      1  written, and something in it must be mended first
      2  the brief, the repository or the model cannot be used
    """
    from touchline.cli.spec_actions import write_new

    write_new(place_of(database), source, repository=repository, folder=folder, model=model, as_json=as_json)


@spec.command()
def show(spec: SpecArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """What a specification says, whether it is approved, and what stands in the way.

    \b
    Exit codes:
      0  shown
      2  there is none, or a file is broken; file and line are named
    """
    from touchline.cli.spec_actions import show_spec

    show_spec(place_of(database), spec, as_json=as_json)


@spec.command()
def edit(spec: SpecArgument = "", as_json: JsonOption = False, database: DatabaseOption = "") -> None:
    """Open both files in $VISUAL or $EDITOR, then read and check them. Without a terminal, print their paths.

    \b
    Exit codes:
      0  both files can be used
      1  something must be mended before approval; it is said what
      2  a file is broken; file and line are named
    """
    from touchline.cli.spec_actions import edit_spec

    edit_spec(place_of(database), spec, as_json=as_json)


@spec.command()
def approve(
    spec: SpecArgument = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Approve a specification as its files stand. Refused, with the reasons, while something is wrong with it.

    \b
    Exit codes:
      0  approved
      1  you said no
      2  it is not ready, or a file is broken
    """
    from touchline.cli.spec_actions import approve_spec

    approve_spec(place_of(database), spec, yes=yes, as_json=as_json)


@spec.command()
def revise(
    words: Annotated[
        list[str], typer.Argument(metavar="[SPEC] WHAT", help="What to change; before it, which specification.")
    ],
    repository: RepositoryOption = None,
    model: ModelOption = "",
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Have a specification written anew with a change, from the brief it was written from. Needs a model.

    Kept: your own sections, the context, known gotchas; of a task with the same id and file its status, `critical`,
    `priority` and gotchas. All else that you changed is shown to the model.

    \b
    Examples:
      touchline spec revise "no database, files are enough"
      touchline spec revise spec_0192 "no database, files are enough"

    \b
    Exit codes:
      0  written, and ready for approval
      1  written, and something in it must be mended first
      2  it cannot be revised; the message says why
    """
    from touchline.cli.spec_actions import revise

    revise(place_of(database), words, repository=repository, model=model, as_json=as_json)
