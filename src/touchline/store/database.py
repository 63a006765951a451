"""How is the database reached? One code path for SQLite and PostgreSQL; what differs between them is here.

SQLite: WAL, `synchronous=FULL` (what was acknowledged survives a power cut), foreign keys on, and writers take their
lock when they begin, so that two of them wait for each other instead of failing half-way.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event, exc

from touchline.errors import DatabaseUnreachable, StoreError
from touchline.store.driver_errors import explained as explained
from touchline.store.driver_errors import is_explained, none_left
from touchline.store.filesystem import refuse_network
from touchline.store.place import normalised
from touchline.store.server import patience, server_pool

Purpose = Literal["user", "test"]
BUSY_SECONDS = 30
"""How long a writer waits for another before it gives up with a clear error."""
_SIZE, _MORE = 10, 90
"""Connections to a SQLite file that are kept, and how many more there may be for a while: one per thread at work."""


class Database:
    """An open database. Close it, or use it in a `with`.

    Opened to look, it makes no file and no folder, and changes nothing, not even the journal mode.
    """

    def __init__(self, url: str, *, only_look: bool = False, busy_seconds: float = BUSY_SECONDS) -> None:
        self.url = url = normalised(url)
        self.sqlite = url.startswith("sqlite")
        self.busy_seconds = busy_seconds
        if self.sqlite:
            path = Path(url.removeprefix("sqlite:///"))
            refuse_network(path)
            if only_look:
                _found(path)
            else:
                _made(path.parent)
                _refuse_read_only(path)
                make_private(path)
        self.engine = _looking_engine(url) if only_look else _engine(url, busy_seconds)

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn the driver's errors into ones that say what to do. Constraint violations stay what they are."""
        try:
            yield
        except exc.DBAPIError as error:
            if is_explained(error):
                raise explained(error, self.url, self.busy_seconds) from error
            raise
        except exc.TimeoutError as error:
            raise none_left(self.url) from error

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to look with; nothing written here is kept. Each statement sees one state of the database."""
        with self.explaining(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction: all of it is kept, or none."""
        with self.explaining(), self.engine.connect() as connection:
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


def _engine(url: str, busy_seconds: float) -> sa.Engine:
    if not url.startswith("sqlite"):
        # What a frozen client held is free again before those who wait for it give up.
        return server_pool(url, size=10, more=10, idle_seconds=busy_seconds, wait_seconds=2 * busy_seconds)
    engine = sa.create_engine(
        sqlite_address(url),
        pool_size=_SIZE,
        max_overflow=_MORE,
        pool_timeout=busy_seconds,
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: object) -> None:
        # The driver begins no transaction by itself: `writing` takes the write lock at the beginning.
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={round(busy_seconds * 1000)}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _looking_engine(url: str) -> sa.Engine:
    if not url.startswith("sqlite"):
        engine = sa.create_engine(url, connect_args=patience(url))
        # One snapshot for all that is read on a connection.
        return engine.execution_options(postgresql_readonly=True, isolation_level="REPEATABLE READ")
    path = quote(url.removeprefix("sqlite:///"))

    def connect() -> sqlite3.Connection:
        # "rw" makes no file; "ro" could not open a WAL database whose shared memory is not there.
        connection = sqlite3.connect(
            f"file:{path}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA query_only=ON")
        return connection

    return sa.create_engine(sqlite_address(url), creator=connect)


def sqlite_address(url: str) -> sa.URL:
    """Not read from the text: a folder may have a question mark in its name."""
    return sa.URL.create("sqlite", database=url.removeprefix("sqlite:///"))


def _found(path: Path) -> None:
    if not os.path.isfile(path):
        raise DatabaseUnreachable(
            f"There is no database at {path}.",
            hint="Nothing was run with it yet: the first `touchline run` makes it, as does `touchline db upgrade`.",
        )


def _made(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise DatabaseUnreachable(
            f"The folder {folder} cannot be made ({error.strerror}).", hint="Name another place with --database."
        ) from error


def make_private(path: Path) -> None:
    """A new file is its owner's alone, and so are SQLite's companions of it: agents' words stand in there.

    One that is there keeps the rights that it has; where none can be made, SQLite says why.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _refuse_read_only(path: Path) -> None:
    """Before SQLite opens it: it would put read-only companions beside a read-only file, and they would stay."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        each = path.with_name(name)
        if each.exists() and not os.access(each, os.R_OK | os.W_OK):
            raise StoreError(
                f"{each} is read-only.",
                hint="Give this user the right to read and write it, or name another place with --database.",
            )
