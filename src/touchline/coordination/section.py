"""Who may decide about leases right now, and what time is it there?

Decisions about leases are taken one after the other: SQLite has one writer anyway, PostgreSQL takes an advisory lock
that ends with the transaction. The time is the database's on PostgreSQL, because the clocks of several machines differ
and a lease must not look expired to one and alive to another; with SQLite there is one machine and one clock.

Lock order, for every transaction that does both: leases first, the event log second.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from touchline.store.clock import time_of

__all__ = ["enter", "time_of"]

_LOCK = 7_461_003
"""PostgreSQL's advisory lock for leases and waits."""


def enter(connection: sa.Connection, now: datetime | None = None) -> datetime:
    """Wait for whoever is deciding, then say what time it is. Left by the end of the transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("select pg_advisory_xact_lock(:n)"), {"n": _LOCK})
    return now or time_of(connection)
