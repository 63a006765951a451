"""The disk is full: a clear error, nothing broken, nothing half-written, and work goes on when there is space again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from tests.postgres import PostgresServer
from tests.store.small_disk import fill, mounted

from touchline.coordination.leases import Granted, acquire, all_leases
from touchline.errors import StoreError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import NewEvent, last_seq, read
from touchline.store.migrate import open_database


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "3m") as folder:
        yield folder


def write(database: Database, number: int) -> None:
    event = NewEvent(type="ideation.message", payload={"role": "x", "text": f"{number:05}" * 400}, source="test")
    with database.writing() as connection:
        append(connection, [event, event])


def write_until_full(database: Database, first: int) -> tuple[int, StoreError]:
    """How many transactions were acknowledged by then, and the error that ended it."""
    for number in range(first, 5_000):
        try:
            write(database, number)
        except StoreError as error:
            return number, error
    raise AssertionError("the disk was never full")


def check_story(database: Database, acknowledged: int, error: StoreError) -> None:
    """A clear error, whatever is tried; and exactly what was acknowledged."""
    assert "is full; nothing was written" in error.message
    assert "Free some space" in error.hint
    assert last_seq(database) == acknowledged * 2
    with pytest.raises(StoreError, match="is full"):
        acquire(database, holder="ann", resources=[f"file:{n}-{'x' * 300}" for n in range(3000)])


def check_goes_on(database: Database, acknowledged: int) -> None:
    """With space again the same open database goes on, with no number left out."""
    write(database, acknowledged)
    answer = acquire(database, holder="bob", resources=["file:free.py"])
    assert isinstance(answer, Granted)
    events = read(database, limit=100_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    texts = [event.payload["text"][:5] for event in events if event.type == "ideation.message"]
    assert texts == [f"{number:05}" for number in range(acknowledged + 1) for _ in range(2)]
    granted = {event.payload["resource"] for event in events if event.type == "lock.granted"}
    with database.reading() as connection:
        assert {lease.resource for lease in all_leases(connection)} == granted


def check_whole(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]


def test_a_full_disk_under_sqlite(small_disk: Path) -> None:
    path = small_disk / "app.db"
    with open_database(f"sqlite:///{path}", purpose="test") as database:
        write(database, 0)
        filler = fill(small_disk)
        more, error = write_until_full(database, 1)
        check_story(database, more, error)
        check_whole(path)
        filler.unlink()
        check_goes_on(database, more)
    check_whole(path)


def test_a_new_database_on_a_full_disk_is_a_clear_error_and_can_be_made_later(small_disk: Path) -> None:
    filler = fill(small_disk)
    url = f"sqlite:///{small_disk / 'app.db'}"
    with pytest.raises(StoreError) as caught:
        open_database(url, purpose="test")
    assert "is full" in caught.value.message or "disk" in caught.value.message, caught.value
    assert caught.value.hint
    filler.unlink()
    with open_database(url, purpose="test") as database:
        write(database, 0)
        assert last_seq(database) == 2


def test_a_page_limit_under_sqlite(tmp_path: Path) -> None:
    """The same without a mount: SQLite says "full" when its file may not grow."""
    path = tmp_path / "app.db"
    with open_database(f"sqlite:///{path}", purpose="test") as database:
        limit = {"pages": 250}
        sa.event.listen(
            database.engine,
            "checkout",
            lambda driver, _record, _proxy: driver.execute(f"PRAGMA max_page_count={limit['pages']}"),
        )
        acknowledged, error = write_until_full(database, 0)
        check_story(database, acknowledged, error)
        limit["pages"] = 1_000_000
        check_goes_on(database, acknowledged)
    check_whole(path)


def test_a_full_disk_under_postgresql(postgres: PostgresServer) -> None:
    with (
        mounted(postgres.folder / "small", "24m") as disk,
        _database_on(disk, postgres) as url,
        open_database(url, purpose="test") as database,
    ):
        write(database, 0)
        filler = fill(disk)
        acknowledged, error = write_until_full(database, 1)
        check_story(database, acknowledged, error)
        filler.unlink()
        check_goes_on(database, acknowledged)


@contextmanager
def _database_on(disk: Path, server: PostgresServer) -> Iterator[str]:
    space = disk / "space"
    space.mkdir()
    shutil.chown(space, server.user)
    with psycopg.connect(server.url().replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create tablespace small location '{space}'".encode())
        connection.execute("create database on_small tablespace small")
        try:
            yield server.url("on_small")
        finally:
            connection.execute("drop database on_small with (force)")
            connection.execute("drop tablespace small")
