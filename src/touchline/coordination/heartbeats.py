"""Which components are alive, and which went silent? A row per component; an event when one starts or stops.

A beat is no event: thousands of them would say nothing. A component's name is its own: two processes under one name
would look like one that starts again and again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from touchline.coordination.section import time_of
from touchline.errors import InputError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import NewEvent
from touchline.store.statuses import create_once, move
from touchline.store.tables import heartbeats

SILENT_SECONDS = 300
"""Silent for longer than this, a component counts as down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Something that runs: a worker, a web server, the monitor."""

    component: str
    kind: str
    host: str
    pid: int
    status: str
    """`alive`, `recovering` while others take over its work, or `stopped`."""
    detail: Mapping[str, Any]
    started_at: datetime
    beat_at: datetime


def beat(
    database: Database,
    *,
    component: str,
    kind: str,
    host: str | None = None,
    pid: int | None = None,
    detail: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> bool:
    """Say that a component lives. Is it new, or another process than before? Then its start is told."""
    if not component or len(component) > 200:
        raise InputError(f"{component[:60]!r} is no name of a component.", hint="Use 1 to 200 characters.")
    host, pid = host or socket.gethostname()[:200], os.getpid() if pid is None else pid
    with database.writing() as connection:
        moment = now or time_of(connection)
        values: dict[str, Any] = {"kind": kind, "host": host, "pid": pid, "beat_at": moment, "detail": detail or {}}
        before = _locked(connection, component)
        if before is None:
            first = {**values, "component": component, "started_at": moment}
            if create_once(connection, "heartbeats", unique="component", **first) is None:
                # Another process came just now, under the same name.
                before = _locked(connection, component)
        started = before is None or before.status == "stopped" or (before.host, before.pid) != (host, pid)
        if before is not None:
            if started:
                values["started_at"] = moment
            move(connection, "heartbeats", component, "alive", **values)
        if started:
            append(connection, [_event("component.started", component, kind, host, pid)])
        return started


def stop(database: Database, component: str, *, reason: str = "", now: datetime | None = None) -> bool:
    """Say that a component ended in order. Did it live? Then its end is told, once."""
    with database.writing() as connection:
        found = _locked(connection, component)
        if found is None or found.status == "stopped":
            return False
        move(connection, "heartbeats", component, "stopped", beat_at=now or time_of(connection))
        event = _event("component.stopped", component, found.kind, found.host, found.pid, reason=reason)
        append(connection, [event])
        return True


def silent(
    connection: sa.Connection, now: datetime | None = None, *, seconds: float = SILENT_SECONDS
) -> list[Component]:
    """Components that should live and have said nothing for longer than that, the longest silent first."""
    before = (now or time_of(connection)) - timedelta(seconds=seconds)
    question = sa.select(heartbeats).where(heartbeats.c.status == "alive", heartbeats.c.beat_at < before)
    rows = connection.execute(question.order_by(heartbeats.c.beat_at, heartbeats.c.component)).mappings()
    return [Component(**row) for row in rows]


def components(connection: sa.Connection) -> list[Component]:
    """All that were ever seen, by name."""
    rows = connection.execute(sa.select(heartbeats).order_by(heartbeats.c.component)).mappings()
    return [Component(**row) for row in rows]


def _locked(connection: sa.Connection, component: str) -> Component | None:
    question = sa.select(heartbeats).where(heartbeats.c.component == component).with_for_update()
    row = connection.execute(question).mappings().first()
    return None if row is None else Component(**row)


def _event(type: str, component: str, kind: str, host: str, pid: int, **more: str) -> NewEvent:
    payload = {"component": component, "kind": kind, "host": host, "pid": pid, **more}
    return NewEvent(type=type, payload=payload, source="coordination")
