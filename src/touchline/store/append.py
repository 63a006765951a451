"""How does an event get into the log? Inside the caller's transaction, checked, and numbered without a gap.

Numbers are given out under a lock that is held until the transaction ends, so the order of numbers is the order of
commits: whoever has read number n will never see a smaller one appear. Append last in a transaction, since every other
writer waits from here on. What makes it fast is a batch per transaction (`writer`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from touchline.errors import EventError, StoreError
from touchline.store import wake
from touchline.store.columns import now, written
from touchline.store.event_types import known_type, validate
from touchline.store.fault_points import fault_point

if TYPE_CHECKING:
    from touchline.store.events import NewEvent

MAX_PAYLOAD = 1_000_000
"""Characters of a payload: whole outputs belong into files."""
_MAX_WORD = 80
_MAX_SEQ = 2**63 - 1
_LOCK = 7_461_002
"""PostgreSQL's advisory lock for numbering."""
_COLUMNS = (
    "seq, at, type, version, source, idea_id, spec_id, build_id, task_id, session_id, cause, payload"  # in this order
)
_INSERT = {
    "sqlite": f"insert into events ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
    "postgresql": f"insert into events ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
}

_NO_JSON = (TypeError, ValueError, RecursionError)

Row = tuple[Any, ...]
"""A checked event as it will be written: all columns but number and time."""


def append(connection: sa.Connection, events: Sequence[NewEvent]) -> list[int]:
    """Write the events, all or none, and return their numbers. They count once the caller's transaction commits.

    EventError when one does not fit its type; StoreError when there is no transaction to be part of.
    """
    return append_rows(connection, [row_of(event) for event in events])


def append_rows(connection: sa.Connection, rows: Sequence[Row]) -> list[int]:
    """Write events that `row_of` has checked."""
    if not rows:
        return []
    fault_point("events.appending")
    _take_turn(connection)
    last: int = connection.exec_driver_sql("select coalesce(max(seq), 0) from events").scalar_one()
    at = written(now())
    connection.exec_driver_sql(
        _INSERT[connection.dialect.name], [(seq, at, *row) for seq, row in enumerate(rows, last + 1)]
    )
    wake.ring_after_commit(connection)
    fault_point("events.appended")
    return list(range(last + 1, last + 1 + len(rows)))


def row_of(event: NewEvent) -> Row:
    """The event as a row, or EventError naming the field that does not fit."""
    kind = validate(event.type, known_type(event.type).version, event.payload)
    try:
        # Plain ASCII: half a surrogate pair from an agent's output must not stop the log.
        payload = json.dumps(event.payload, separators=(",", ":"), allow_nan=False)
    except _NO_JSON as error:
        raise _no_json(event, error) from error
    if len(payload) > MAX_PAYLOAD:
        raise EventError(
            f"{event.type}: the payload has {len(payload):,} characters, allowed are {MAX_PAYLOAD:,}.",
            hint="Write it to a file and name its path in the event.",
        )
    ids = event.ids
    words = (ids.idea, ids.spec, ids.build, ids.task, ids.session)
    if not event.source or not _is_word(event.source):
        raise _no_word(event.type, "source", event.source)
    for name, word in zip(("idea", "spec", "build", "task", "session"), words, strict=True):
        if word is not None and not _is_word(word):
            raise _no_word(event.type, f"ids.{name}", word)
    if event.cause is not None and not 0 < event.cause <= _MAX_SEQ:
        raise EventError(
            f"{event.type}: the cause must be an event's number, but is {event.cause!r}.",
            hint="Give the seq of the event that led to this one.",
        )
    return (event.type, kind.version, event.source, *words, event.cause, payload)


def _take_turn(connection: sa.Connection) -> None:
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        if not driver.in_transaction:
            raise StoreError("Events are appended inside a transaction.", hint="Use: with database.writing()")
        return
    # Read committed: the number is looked up after the lock was taken, so it must be looked up afresh. The notice
    # goes out with the commit, and only as a hint; readers look by themselves now and then.
    level = connection.exec_driver_sql(
        "select current_setting('transaction_isolation'), pg_advisory_xact_lock(%s), pg_notify(%s, '')",
        (_LOCK, wake.CHANNEL),
    ).scalar_one()
    if driver.autocommit or level != "read committed":
        raise StoreError(
            f"Events are appended inside a transaction of level 'read committed', not {level!r}"
            f"{' without one' if driver.autocommit else ''}.",
            hint="Use: with database.writing()",
        )


def _no_json(event: NewEvent, error: Exception) -> EventError:
    field = next((f"the field {name!r}" for name, value in event.payload.items() if not _is_json(value)), "the payload")
    return EventError(
        f"{event.type}: {field} cannot be written as JSON ({error}).",
        hint="Use text, finite numbers, lists and objects.",
    )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except _NO_JSON:
        return False
    return True


def _is_word(value: str) -> bool:
    # ASCII or not, but nothing that one of the databases would refuse.
    return (
        isinstance(value, str)
        and len(value) <= _MAX_WORD
        and (value.isascii() or _encodes(value))
        and "\0" not in value
    )


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_word(name: str, field: str, value: object) -> EventError:
    return EventError(
        f"{name}: {field} must be a text of at most {_MAX_WORD} characters, but is {value!r}.",
        hint="Give the component's name or the record's id.",
    )
