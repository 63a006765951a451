"""Whose is a task's file now? Leases keep two tasks, or two builds, from working on one file at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from touchline.coordination.leases import (
    Denied,
    Granted,
    acquire,
    all_leases,
    check_token,
    file_resource,
    release,
    renew,
)
from touchline.coordination.ownership import owner_of
from touchline.errors import LeaseError
from touchline.roles.build.rows import TaskRow, build_row, task_row
from touchline.sessions.room import Room
from touchline.store.events import Ids
from touchline.store.tables import waits


def take(room: Room, row: TaskRow) -> bool:
    """Lease the task's file. A refusal is recorded as a wait, which the release wakes."""
    return not row.task.file or not isinstance(_ask(room, row), Denied)


def _ask(room: Room, row: TaskRow) -> Granted | Denied:
    with room.database.reading() as connection:
        resource = _resource(row, _repository(connection, row.build_id))
    return acquire(
        room.database,
        holder=row.holder,
        resources=[resource],
        priority=row.task.priority,
        ids=Ids(build=row.build_id, task=row.id),
    )


def token_of(room: Room, row: TaskRow) -> int:
    """The token under which the task may change its file. One that expired, as while the machine slept, is had anew if
    nobody took the file meanwhile; LeaseError otherwise."""
    if not row.task.file:
        return 0
    with room.database.reading() as connection:
        held = all_leases(connection, holder=row.holder)
    if held:
        return held[0].token
    got = _ask(room, row)
    if isinstance(got, Denied):
        raise LeaseError(
            f"{row.task.file} is no longer leased to {row.task.id}: {got.holder} has it now. Nothing was merged.",
            hint="Let the build go on when the file is free.",
        )
    return got.token


def still_leased(connection: sa.Connection, row: TaskRow, token: int) -> None:
    """Refuse a change whose lease is gone, and keep it from going until the transaction ends."""
    if row.task.file:
        check_token(connection, _resource(row, _repository(connection, row.build_id)), token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the files of some tasks stand."""

    owners: Mapping[str, str]
    """By path."""
    holders: Mapping[str, str]
    waiting: frozenset[str]
    """Holders whose wait is recorded."""


def standing_in(connection: sa.Connection, rows: Sequence[TaskRow]) -> Standing:
    """Who owns, holds and waits for the tasks' files."""
    places = {build: _repository(connection, build) for build in {row.build_id for row in rows}}
    files = {_resource(row, places[row.build_id]): row.task.file for row in rows if row.task.file}
    return Standing(
        holders={files[each.resource]: each.holder for each in all_leases(connection) if each.resource in files},
        owners={path: owner for name, path in files.items() if (owner := owner_of(connection, name))},
        waiting=frozenset(connection.execute(sa.select(waits.c.waiter)).scalars()),
    )


def _resource(row: TaskRow, repository: Path) -> str:
    return file_resource(row.task.file, repository)


def _repository(connection: sa.Connection, build: str) -> Path:
    return Path(build_row(connection, build).repository)


def keep_alive(room: Room, rows: Sequence[TaskRow]) -> None:
    """Renew what running tasks hold; one that expired while the machine slept is taken again, if it is still free."""
    with room.database.reading() as connection:
        held = {row.id: all_leases(connection, holder=row.holder) for row in rows}
    for row in rows:
        try:
            for lease in held[row.id]:
                renew(room.database, holder=lease.holder, token=lease.token)
        except LeaseError:
            take(room, row)
        if not held[row.id]:
            take(room, row)


def let_go(room: Room, row: TaskRow) -> None:
    """Give back what a task holds and waits for; who waits for it is woken."""
    release(room.database, holder=row.holder)


def give_back(room: Room, id: str) -> None:
    """The same, by the task's id."""
    with room.database.reading() as connection:
        row = task_row(connection, id)
    let_go(room, row)
