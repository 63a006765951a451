"""Which running tasks come to touch the same lines? Looked up in their clones, and announced once per pair and file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import sqlalchemy as sa

from touchline.roles.build.changes import tell, update_build
from touchline.roles.build.conflicts import Base, Changes, Overlap, changes_in, find_overlaps
from touchline.roles.build.rows import BuildRow, TaskRow, build_row
from touchline.roles.build.site import workshop_of
from touchline.sessions.room import Room
from touchline.store.tables import sessions


def announce_overlaps(room: Room, build: BuildRow, running: Sequence[TaskRow]) -> tuple[Overlap, ...]:
    """Find overlaps and tell those that were not told yet."""
    seen = {row.task.id: found for row in running if (found := _seen(room, build, row)) is not None}
    overlaps = tuple(
        overlap
        for one, other in combinations(sorted(seen), 2)
        for overlap in find_overlaps(one, seen[one], other, seen[other])
    )
    if not overlaps:
        return ()
    ids = {row.task.id: row.id for row in running}
    with room.database.writing() as connection:
        build = build_row(connection, build.id)
        told = list(build.result.get("overlaps", ()))
        for each in overlaps:
            key = f"{each.one}|{each.other}|{each.file}"
            if key in told:
                continue
            told.append(key)
            tell(
                connection,
                build.id,
                "conflict.detected",
                task=ids[each.one],
                kind="overlap",
                resource=each.file,
                members=[each.one, each.other],
                lines=[list(lines) for lines in each.lines],
                text=f"{each.one} and {each.other} both change {each.file}, {_where(each)}.",
            )
        if told != list(build.result.get("overlaps", ())):
            update_build(connection, build.id, result={**build.result, "overlaps": told})
    return overlaps


def _where(overlap: Overlap) -> str:
    if overlap.created:
        return "which both create"
    if overlap.lines == ((0, 0),):
        return "before its first line"
    return "lines " + ", ".join(f"{first}-{last}" for first, last in overlap.lines)


def _seen(room: Room, build: BuildRow, row: TaskRow) -> Changes | None:
    coding = row.data.get("sessions", {}).get("coding", ())
    if not coding:
        return None
    with room.database.reading() as connection:
        query = sa.select(sessions.c.workspace, sessions.c.base_commit).where(sessions.c.id == coding[-1])
        found = connection.execute(query).first()
    if found is None or found.base_commit is None or not Path(found.workspace).is_dir():
        return None  # its clone is not there yet
    shop = workshop_of(build, room)
    base = _base(str(shop.checkout(found.base_commit, f"base-{found.base_commit[:12]}")))
    return changes_in(Path(found.workspace), base)


@lru_cache(maxsize=8)
def _base(folder: str) -> Base:
    """A commit's scratch clone, with what was read of it: it never changes."""
    return Base(Path(folder))
