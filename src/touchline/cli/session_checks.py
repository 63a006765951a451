"""Is anything left half-way? The checks of `touchline doctor` about processes and sessions; they change nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.errors import StoreError
from touchline.store.checked import Checked, ok, warning
from touchline.store.place import Place

if TYPE_CHECKING:
    from touchline.store.database import Database


def check_leftovers(place: Place, env: Mapping[str, str], home: Path) -> Checked:
    """Processes that a Touchline which died left running on this machine."""
    from touchline.processes.children import children_folder

    folder = children_folder(place, env=env, home=home)
    orphans = [pid for path in sorted(folder.glob("*.json")) if (pid := orphan(path)) is not None]
    if orphans:
        words = f"{len(orphans)} left by a process that died: {', '.join(map(str, orphans[:10]))}"
        return warning("leftovers", words, fix="They are ended by the next touchline run or touchline worker.")
    return ok("leftovers", "none")


def orphan(record: Path) -> int | None:
    """The process of a record when it lives and who started it does not."""
    from touchline.processes.child_start import boot, started

    try:
        kept = json.loads(record.read_text(encoding="ascii"))
        pid, began = int(kept["pid"]), kept.get("started")
        parent, parent_began = int(kept["parent"]), kept.get("parent_started")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if kept.get("boot") != boot() or started(pid) is None or started(pid) != began:
        return None
    return None if started(parent) is not None and started(parent) == parent_began else pid


def check_sessions(place: Place) -> Iterator[Checked]:
    """Sessions that are marked as running while nobody runs them. Says nothing where there is no usable database."""
    if place.path is not None and not place.path.exists():
        return
    try:
        from touchline.store.database import Database
        from touchline.store.migrate import schema_of

        with Database(place.url, only_look=True) as database:
            if schema_of(database).state != "current":
                return
            running = _running(database)
            alive = not running or _somebody_works(place, database)
    except (StoreError, ModuleNotFoundError):
        return  # the checks of the database and the packages say so
    if alive:
        yield ok("sessions", f"{len(running)} running")
        return
    words = f"{len(running)} marked as running, and no process works on them: {', '.join(running[:5])}"
    yield warning("sessions", words, fix="touchline worker goes on with them.")


def _running(database: Database) -> list[str]:
    import sqlalchemy as sa

    from touchline.store.tables import sessions

    query = sa.select(sessions.c.id).where(sessions.c.status.in_(("starting", "running"))).order_by(sessions.c.id)
    with database.reading() as connection:
        return [str(each) for each in connection.execute(query).scalars()]


def _somebody_works(place: Place, database: Database) -> bool:
    """On SQLite whoever holds the supervisor's lock; on PostgreSQL anybody whose heart beats."""
    if place.path is not None:
        from touchline.cli.run_post import supervised

        return supervised(place)
    import sqlalchemy as sa

    from touchline.engine.executors import KIND, TTL_SECONDS
    from touchline.store.clock import time_of
    from touchline.store.tables import heartbeats

    row = heartbeats.c
    with database.reading() as connection:
        beats = connection.execute(sa.select(row.beat_at).where(row.kind == KIND, row.status == "alive")).scalars()
        moment = time_of(connection)
        return any((moment - beat).total_seconds() <= TTL_SECONDS for beat in beats)
