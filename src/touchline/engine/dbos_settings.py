"""How is DBOS set up for us? Its database connection, its configuration, its silence.

Each setting here has a measured reason: rollback journals cost 20 ms a step instead of 3; first launches of several
processes on one SQLite file crash each other; the default version, a hash of the source, strands work at every
upgrade; the default serializer, pickle in a shared database, is code execution.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event

from touchline.store.database import make_private, sqlite_address
from touchline.store.locks import process_lock
from touchline.store.place import Place
from touchline.store.server import server_pool

if TYPE_CHECKING:
    from dbos import DBOSConfig

APPLICATION = "touchline"
VERSION = "touchline-1"
"""Pinned for good: work that was begun is taken up by every later Touchline (`Flow.changed` tells the difference)."""
SCHEMA = "touchline_engine"
"""On PostgreSQL the engine's tables stand in a schema of their own, apart from ours."""
LOCAL = "local"
"""The executor's name on SQLite: there is one at a time, so the next one goes on where the last one died."""
POLL_SECONDS = 0.5
BUSY_SECONDS = 30
IDLE_SECONDS = 60
"""How long a transaction on PostgreSQL may do nothing, unless the address or the server says otherwise."""


def connect(place: Place, *, for_tables: bool = False) -> sa.Engine:
    """A connection pool to the engine's own database.

    `for_tables`: tables are made in a transaction too. Python's sqlite3 begins none for CREATE TABLE: a kill in between
    would leave half of the engine's tables, and it could never open that file again.
    """
    if place.path is None:
        return server_pool(place.engine_url, size=10, more=20, idle_seconds=IDLE_SECONDS)
    engine = sa.create_engine(
        sqlite_address(place.engine_url),
        pool_size=10,
        max_overflow=20,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: object) -> None:
        connection.isolation_level = None if for_tables else "IMMEDIATE"
        for pragma in (
            f"busy_timeout={BUSY_SECONDS * 1000}",
            "journal_mode=WAL",
            # A record lost in a power cut repeats a step; every step may be repeated.
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    if for_tables:

        @event.listens_for(engine, "begin")
        def _(connection: sa.Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def configuration(pool: sa.Engine, executor: str, poll: float) -> DBOSConfig:
    """What DBOS is told."""
    from dbos import DBOSPortableJSONSerializer

    return {
        "name": APPLICATION,
        "system_database_engine": pool,
        "dbos_system_schema": SCHEMA,
        "application_version": VERSION,
        "enable_patching": True,
        "executor_id": executor,
        "serializer": DBOSPortableJSONSerializer(),
        "notification_listener_polling_interval_sec": poll,
        "log_level": "WARNING",
        "enable_otlp": False,
    }


def engine_file(place: Place) -> Path:
    """Where the engine's tables are, on SQLite."""
    return Path(place.engine_url.removeprefix("sqlite:///"))


@contextmanager
def launching(place: Place) -> Iterator[None]:
    """One process at a time makes the tables of a SQLite file. (On PostgreSQL the engine sees to that itself.)"""
    if place.path is None:
        yield
        return
    path = engine_file(place)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with process_lock(path.with_suffix(".lock")):
        make_private(path)
        yield


class _Passed(logging.Handler):
    """Hands the engine's warnings to our logger, whose handlers the program decides on."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("touchline.engine").log(record.levelno, "%s", record.getMessage())


def silence() -> None:
    """Nothing of the engine's goes to a person's terminal by itself, least of all its advertisement."""
    ours = logging.getLogger("touchline.engine")
    if not ours.handlers:
        ours.addHandler(logging.NullHandler())
    theirs = logging.getLogger("dbos")
    if not theirs.handlers:
        theirs.addHandler(_Passed())
    theirs.propagate = False
