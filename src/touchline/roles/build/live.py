"""Which running tasks come to touch the same lines? Looked up in their clones, and announced once per pair and file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from touchline.roles.build.changes import tell, update_build
from touchline.roles.build.conflicts import Lines, Overlap, changes_in, find_overlaps, texts_in
from touchline.roles.build.rows import BuildRow, TaskRow, build_row
from touchline.roles.build.site import workshop_of
from touchline.sessions.room import Room
from touchline.store.tables import sessions


class _Seen(NamedTuple):
    """What a clone has changed, and what it began with."""

    changes: Mapping[str, tuple[Lines, ...]]
    began: Mapping[str, str]


def announce_overlaps(room: Room, build: BuildRow, running: Sequence[TaskRow]) -> tuple[Overlap, ...]:
    """Find overlaps and tell those that were not told yet."""
    seen = {row.task.id: found for row in running if (found := _seen(room, build, row)) is not None}
    overlaps = tuple(
        overlap
        for one, other in combinations(sorted(seen), 2)
        for overlap in find_overlaps(_comparable(one, seen[one], other, seen[other]))
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


def _comparable(one: str, first: _Seen, other: str, second: _Seen) -> dict[str, dict[str, tuple[Lines, ...]]]:
    """Line numbers mean the same only where both began with the same text; the rest shows at the merge."""
    same = {
        file for file in set(first.changes) & set(second.changes) if first.began.get(file) == second.began.get(file)
    }
    return {name: {f: seen.changes[f] for f in same} for name, seen in ((one, first), (other, second))}


def _where(overlap: Overlap) -> str:
    if overlap.lines == ((0, 0),):
        return "which both create"
    return "lines " + ", ".join(f"{first}-{last}" for first, last in overlap.lines)


def _seen(room: Room, build: BuildRow, row: TaskRow) -> _Seen | None:
    coding = row.data.get("sessions", {}).get("coding", ())
    if not coding:
        return None
    with room.database.reading() as connection:
        query = sa.select(sessions.c.workspace, sessions.c.base_commit).where(sessions.c.id == coding[-1])
        found = connection.execute(query).first()
    if found is None or found.base_commit is None or not Path(found.workspace).is_dir():
        return None  # its clone is not there yet
    shop = workshop_of(build, room)
    began = _texts(str(shop.checkout(found.base_commit, f"base-{found.base_commit[:12]}")))
    return _Seen(changes=changes_in(Path(found.workspace), began), began=began)


@lru_cache(maxsize=8)
def _texts(folder: str) -> dict[str, str]:
    """The texts of a commit; its scratch clone never changes."""
    return texts_in(Path(folder))
