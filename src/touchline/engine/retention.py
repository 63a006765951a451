"""How long is ended work kept? For a month; running and waiting work stays, with all it needs.

Only the engine's records of steps go. What a session or a build was, and the event log, stay.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from touchline.engine.port import Engine
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.log_tables import step_results

KEPT = timedelta(days=30)
"""Long enough to look into what went wrong, short enough that the engine's tables do not grow for ever."""


def forget_old(engine: Engine, database: Database) -> int:
    """What every process that runs work does when it starts."""
    return forget_ended(engine, database, now() - KEPT)


def forget_ended(engine: Engine, database: Database, before: datetime) -> int:
    """Remove jobs that ended before that time, and what their steps kept in our tables; how many jobs."""
    count = engine.forget(before)
    with database.reading() as connection:
        old = connection.execute(sa.select(step_results.c.key).where(step_results.c.at < before)).scalars().all()
    # A job may wait for weeks with its first steps long done: what it will ask for again must stay.
    owners = {key: key.rpartition("/")[0] for key in old}
    gone = {id for id in set(owners.values()) if engine.status(id) is None}
    keys = [key for key, id in owners.items() if id in gone]
    with database.writing() as connection:
        for start in range(0, len(keys), 500):
            connection.execute(step_results.delete().where(step_results.c.key.in_(keys[start : start + 500])))
    return count
