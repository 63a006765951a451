"""`touchline apply`: brings a run's work into your branch, after showing what it changes and what deserves a look."""

from __future__ import annotations

from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of


def apply(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a session or a build, or its beginning.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; needed where nobody can answer.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would happen, and leave it at that.")] = False,
    branch: Annotated[
        str, typer.Option("--branch", metavar="NAME", help="Put it on a new branch; your files stay as they are.")
    ] = "",
    patch: Annotated[bool, typer.Option("--patch", help="Show every changed line.")] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = "",
) -> None:
    """Bring a run's work into the branch you are on.

    Shows the changed files, marks what can run by itself (hooks, CI files, package scripts, agent settings and so on),
    and asks. Files you have not committed stay as they are; where they would be replaced, nothing is applied. An apply
    that was killed is finished or undone by the next one.

    \b
    Examples:
      touchline apply 3f2a
      touchline apply 3f2a --dry-run --patch
      touchline apply 3f2a --branch try-it
      touchline apply build

    \b
    Exit codes:
      0  applied, or it is there already
      1  not applied: conflicts, uncommitted changes in the way, or you said no
      2  no such run, or it cannot be applied here
      3  the run changed nothing
    """
    from touchline.cli.apply_actions import Wanted, apply_run, run_named

    wanted = Wanted(yes=yes, dry_run=dry_run, branch=branch, patch=patch, as_json=as_json)
    apply_run(run_named(place_of(database), run), wanted)
