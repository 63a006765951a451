"""How long is ended work kept? Until somebody says what may go; running and waiting work stays, with all it needs."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from touchline.engine.port import Engine
from touchline.store.database import Database
from touchline.store.log_tables import step_results


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
