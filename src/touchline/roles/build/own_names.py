"""Is a name that an error calls missing the project's own? Then it is no package: nobody may install that name from an
index, where a stranger may have taken it, and its absence is a fault of the work."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from touchline.roles.build.rows import BuildRow, TaskRow, tasks_of
from touchline.roles.build.site import workshop_of
from touchline.sessions.records import session_record
from touchline.sessions.room import Room


def is_own_to(room: Room, build: BuildRow, row: TaskRow, name: str) -> bool:
    """Whether the name is the project's own: on the branch, in the task's newest work, planned by any task, or lying in
    the clone that the task's agent works in."""
    shop, coders = workshop_of(build, room), row.data.get("sessions", {}).get("coding", ())
    with room.database.reading() as connection:
        planned = {each.task.file for each in tasks_of(connection, build.id) if each.task.file}
        workspace = session_record(connection, coders[-1]).workspace if coders else ""
    there = shop.names(shop.head()) | (shop.names(row.data["head"]) if row.data.get("head") else frozenset())
    return is_own(name, planned | there, Path(workspace) if workspace else None)


def is_own(name: str, paths: Collection[str], workspace: Path | None = None) -> bool:
    """Whether a file or folder of the project bears that name, wherever it lies. `paths` are the files it has, or is to
    have; `workspace` is the agent's clone, where one may lie that git leaves out."""
    wanted = _plain(name)
    files = [PurePosixPath(path) for path in paths]
    if any(wanted == _plain(part.partition(".")[0]) for file in files for part in file.parts):
        return True
    if workspace is None:
        return False
    # Only beside files of the project: what was installed in the clone has folders of its own.
    folders = {workspace / folder for file in files for folder in file.parents}
    return any(wanted == _plain(each.name.partition(".")[0]) for folder in folders for each in _in(folder))


def _in(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except OSError:
        return ()


def _plain(name: str) -> str:
    """As package indexes compare names, and without the scope."""
    return re.sub(r"[-_.]+", "-", name.rpartition("/")[2]).lower()
