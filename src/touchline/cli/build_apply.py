"""How is a build's work found for `touchline apply`? Its branch is fetched into the person's repository, beside all
branches, and applied from there like the work of a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.cli.place import command, looked_at
from touchline.errors import InputError

if TYPE_CHECKING:
    from touchline.cli.apply_actions import Run
    from touchline.roles.build.rows import BuildRow
    from touchline.store.place import Place

PREFIX = "build"
"""Ids of builds begin so, and those of sessions do not."""


def built(place: Place, name: str) -> Run:
    """The build's work. InputError when there is none yet, or its repository is gone."""
    from touchline.cli.apply_actions import Run
    from touchline.roles.build.rows import build_row
    from touchline.roles.build.workshop import Workshop

    with looked_at(place) as database, database.reading() as connection:
        build = build_row(connection, "" if name == PREFIX else name)
    if build.workshop and not Path(build.workshop).is_dir():
        raise InputError(
            f"The repository of the build {build.id} is gone: {build.workshop}.",
            hint="It was made on another machine, or ended long ago and was removed (docs/reference/database.md).",
        )
    if not build.workshop:
        raise InputError(
            f"The build {build.id} has brought no work yet; it is {build.status}.",
            hint=f"See: {command(f'build status {build.id}')}",
        )
    shop = Workshop(path=Path(build.workshop), env=os.environ)
    head = shop.head()
    _fetch(build, shop.path)
    return Run(
        id=build.id,
        repository=Path(build.repository),
        base=build.base_commit or head,
        commit=head,
        task=f"the build {build.id}",
        accepted=build.status == "complete" and build.reason == "completed",
        why=f"the build is {build.status} ({build.reason}), and this is what it has finished so far",
    )


def _fetch(build: BuildRow, workshop: Path) -> None:
    from touchline.agents.workspaces.repository import find_repository
    from touchline.roles.build.workshop import BRANCH

    found = find_repository(Path(build.repository), os.environ)
    where = f"+{BRANCH}:refs/touchline/{build.id}/head"
    found.git.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", str(workshop), where, seconds=1800)
