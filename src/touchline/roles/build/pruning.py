"""How long is a build's own repository kept, with the outputs of its checks? As long as the streams of sessions.

By age every ended build goes. For the room it takes, only one whose work is in a branch of the person's goes sooner.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from touchline.agents.workspaces.clone import remove
from touchline.agents.workspaces.repository import find_repository
from touchline.errors import WorkspaceError
from touchline.roles.build.rows import ENDED, BuildRow, list_builds
from touchline.roles.build.site import builds_folder
from touchline.sessions.raw import KEEP_BYTES, prune
from touchline.sessions.room import Room

_MANY = 10_000


def prune_builds(room: Room, *, most: int = KEEP_BYTES) -> tuple[str, ...]:
    """Remove what is too old or too much; whose it was. What every process that runs work does when it starts."""
    with room.database.reading() as connection:
        ended = list_builds(connection, statuses=sorted(ENDED), limit=_MANY)
    folder = builds_folder(room)
    removed = prune(folder, ended={build.id for build in ended}, most=sys.maxsize)
    left = [build for build in ended if (folder / build.id).is_dir()]
    if sum(_size(folder / build.id) for build in left) > most:
        removed += prune(folder, ended={build.id for build in left if _taken(build, room)}, most=most)
    for name in removed:
        with suppress(WorkspaceError):  # what cannot be removed is no reason not to work
            remove(folder / name)
    return removed


def _taken(build: BuildRow, room: Room) -> bool:
    """Whether a branch of the person's has its work. (One that took the changes alone cannot be told from none.)"""
    if not build.head_commit:
        return False
    try:
        git = find_repository(Path(build.repository), room.env).git
        query = ("for-each-ref", "--count=1", f"--contains={build.head_commit}", "refs/heads")
        return bool(git.run(*query).text)
    except WorkspaceError:  # also when it does not know the commit
        return False


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
