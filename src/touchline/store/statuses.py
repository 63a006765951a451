"""Who writes a status or a counter? This module, and no other: every move is checked against `life`, and raced safely.

A move says from where: two who move the same record at once cannot both succeed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from touchline.errors import StatusError
from touchline.store import tables
from touchline.store.columns import new_id, now
from touchline.store.life import edges, first_status, may_move
from touchline.store.statements import counting, inserting, reading, updating

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "tasks": ("attempts",),
    "builds": ("runs",),
    "sessions": ("turns", "continuations", "failures", "runs"),
    "turns": ("beginnings",),
    "reviews": ("streak",),
    "preferences": ("times",),
    "lessons": ("sightings",),
    "specs": ("version",),
    "outbox": ("attempts",),
    "subscriptions": ("failures",),
    "dead_letters": ("failures",),
    "counters": ("value",),
}
"""What `bump` may count."""
_KINDS = {"change_requests": "change", "outbox": "out"}


def create(connection: sa.Connection, table_name: str, **values: Any) -> str:
    """A new record in its first status (or the one given), with id and times filled in; returns its id."""
    table = _table(table_name)
    row = _filled(table, values)
    connection.execute(inserting(table), row)
    return str(row[_key(table).name])


def create_once(connection: sa.Connection, table_name: str, *, unique: str, **values: Any) -> str | None:
    """Like `create`; None when a record with the same value of `unique` is there already, even if it came just now."""
    table = _table(table_name)
    row = _filled(table, values)
    insert = (sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert)(table)
    made = insert.values(**row).on_conflict_do_nothing(index_elements=[unique]).returning(_key(table))
    return connection.execute(made).scalar()


def status_of(connection: sa.Connection, table_name: str, id: str) -> str:
    """The record's status. StatusError when there is no such record."""
    table = _table(table_name)
    key = _key(table)
    found = connection.execute(reading(table.c.status, key), {f"at_{key.name}": id}).scalar()
    if found is None:
        raise StatusError(f"{table_name}: there is no record {id!r}.", hint="Check the id.")
    return str(found)


def move(
    connection: sa.Connection,
    table_name: str,
    id: str,
    to: str,
    *,
    reason: str | None = None,
    expect: str | None = None,
    **also: Any,
) -> str:
    """Move a record to another status and return the one it was in; `also` are other columns to set with it.

    StatusError when the edge is not allowed, when the record is not in the status `expect`, or when somebody else moved
    it at the same time. Nothing is written then.
    """
    table = _table(table_name)
    before = status_of(connection, table_name, id)
    if expect is not None and before != expect:
        raise StatusError(
            f"{table_name} {id}: is {before!r}, not {expect!r}, and was not moved to {to!r}.",
            hint="Somebody else moved it; look at it again.",
        )
    if not may_move(table_name, before, to):
        allowed = ", ".join(edges(table_name).get(before, ())) or "nothing"
        raise StatusError(f"{table_name} {id}: {before!r} cannot become {to!r}.", hint=f"Allowed from here: {allowed}.")
    values = {**also, "status": to}
    if reason is not None:
        if "reason" not in table.c:
            raise StatusError(f"{table_name} {id}: there is no place for a reason.", hint="Leave it out.")
        values["reason"] = reason
    if "updated_at" in table.c:
        values.setdefault("updated_at", now())
    key = _key(table).name
    moving = updating(table, key, "status")
    done = connection.execute(moving, {f"at_{key}": id, "at_status": before, **values}).rowcount
    if not done:
        raise StatusError(
            f"{table_name} {id}: left {before!r} while it was to be moved to {to!r}.",
            hint="Somebody else moved it; look at it again.",
        )
    return before


def bump(connection: sa.Connection, table_name: str, id: str, counter: str, by: int = 1) -> int:
    """Add to a counter and return its new value. A named counter (table `counters`) begins at 0 by itself."""
    if counter not in COUNTERS.get(table_name, ()):
        raise StatusError(
            f"{table_name}.{counter} is no counter.", hint=f"Counters there: {', '.join(COUNTERS.get(table_name, ()))}."
        )
    table = _any_table(table_name)
    key, column = _key(table), table.c[counter]
    if table_name == "counters":
        insert = (sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert)(table)
        connection.execute(insert.values(name=id, value=0).on_conflict_do_nothing(index_elements=["name"]))
    found = connection.execute(counting(column, key), {f"at_{key.name}": id, "more": by}).scalar()
    if found is None:
        raise StatusError(f"{table_name}: there is no record {id!r}.", hint="Check the id.")
    return int(found)


def _filled(table: sa.Table, values: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(values)
    row.setdefault("status", first_status(table.name))
    if row["status"] not in edges(table.name):
        raise StatusError(
            f"{table.name}: {row['status']!r} is no status.", hint=f"Known: {', '.join(edges(table.name))}."
        )
    key = _key(table).name
    if key == "id":
        row.setdefault("id", new_id(_KINDS.get(table.name, table.name.removesuffix("s"))))
    moment = now()
    for name in ("created_at", "updated_at", "at", "started_at", "beat_at"):
        column = table.c.get(name)
        if column is not None and not column.nullable:
            row.setdefault(name, moment)
    return row


def _table(name: str) -> sa.Table:
    table = _any_table(name)
    if "status" not in table.c:
        raise StatusError(f"Records of {name} have no status.", hint="Write them directly.")
    return table


def _any_table(name: str) -> sa.Table:
    found = tables.metadata.tables.get(name)
    if found is None:
        raise StatusError(f"There is no table {name!r}.", hint=f"Tables: {', '.join(sorted(tables.metadata.tables))}.")
    return found


def _key(table: sa.Table) -> sa.Column[Any]:
    return next(iter(table.primary_key.columns))
