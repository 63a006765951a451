"""How is the database reached? One code path for SQLite and PostgreSQL; what differs between them is here.

SQLite: WAL, `synchronous=FULL` (what was acknowledged survives a power cut), foreign keys on, and writers take their
lock when they begin, so that two of them wait for each other instead of failing half-way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import event, exc

from touchline.errors import DatabaseUnreachable, StoreError

Purpose = Literal["user", "test"]
BUSY_SECONDS = 30
"""How long a writer waits for another before it gives up with a clear error."""


class Database:
    """An open database. Close it, or use it in a `with`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sqlite = url.startswith("sqlite")
        if self.sqlite and (path := Path(url.removeprefix("sqlite:///"))).parent != Path():
            _made(path.parent)
        self.engine = _engine(url)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A consistent view; nothing written here is kept."""
        with _told(self.url), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction: all of it is kept, or none."""
        with _told(self.url), self.engine.connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            with connection.begin() if not self.sqlite else _kept(connection):
                yield connection


@contextmanager
def _kept(connection: sa.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _engine(url: str) -> sa.Engine:
    if not url.startswith("sqlite"):
        return sa.create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=10)
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: object) -> None:
        # The driver begins no transaction by itself: `writing` takes the write lock at the beginning.
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_SECONDS * 1000}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DatabaseUnreachable(
            f"The folder {folder} cannot be made ({error.strerror}).", hint="Name another place with --database."
        ) from error


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Turn the driver's errors into ones that say what to do. Constraint violations stay what they are."""
    try:
        yield
    except exc.OperationalError as error:
        raise explained(error, url) from error
    except exc.DatabaseError as error:
        if isinstance(error.orig, sqlite3.DatabaseError) and type(error.orig) is sqlite3.DatabaseError:
            raise explained(error, url) from error
        raise


def explained(error: exc.DBAPIError, url: str) -> StoreError:
    """The error of a driver, in words that name the next step."""
    words = str(error.orig).strip() or str(error)
    where = sa.make_url(url).render_as_string(hide_password=True)
    lower = words.lower()
    if "database or disk is full" in lower or "no space left" in lower or "disk full" in lower:
        return StoreError(f"The disk of {where} is full; nothing was written.", hint="Free some space and go on.")
    if "readonly database" in lower or "read-only" in lower:
        return StoreError(f"{where} is read-only.", hint="Give this user the right to write there, or use --database.")
    if "locked" in lower:
        return StoreError(
            f"{where} is locked by another program for over {BUSY_SECONDS} s.", hint="End that program, then try again."
        )
    if "unable to open" in lower:
        return DatabaseUnreachable(f"{where} cannot be opened ({words}).", hint="Check the path and its rights.")
    if "not a database" in lower or "malformed" in lower:
        return StoreError(
            f"{where} is damaged or no SQLite database ({words}).",
            hint="Restore a backup: touchline db backup makes them.",
        )
    return DatabaseUnreachable(f"{where} does not answer as it should: {words}", hint="touchline doctor says more.")
