"""What time is it, for everybody who uses this database?

The database's time on PostgreSQL, because the clocks of several machines differ and what is claimed must not look
expired to one and alive to another; with SQLite there is one machine and one clock.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from touchline.store.columns import now


def time_of(connection: sa.Connection) -> datetime:
    """The time that all users of this database agree on."""
    if connection.dialect.name == "postgresql":
        # Not now(): that is when the transaction began, which may be long before a lock was granted.
        told: datetime = connection.execute(sa.text("select clock_timestamp()")).scalar_one()
        return told.astimezone(UTC)
    return now()
