"""One client stands still: the others go on, or are told within a bounded time."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.postgres import PostgresServer
from tests.store.samples import note, program

from touchline.errors import StoreError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.migrate import open_database

FROZEN = """
import os, signal, sys
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import NewEvent
with Database(sys.argv[1], busy_seconds=1) as database, database.writing() as connection:
    append(connection, [NewEvent(type="build.started", source="frozen")])
    print("in", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_client_that_froze_while_it_wrote_stops_the_other_writers_for_a_moment_only(migrated_server: str) -> None:
    process = program(FROZEN, migrated_server)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        with Database(migrated_server, busy_seconds=5) as database:
            began = time.monotonic()
            with database.writing() as connection:
                append(connection, [note(1, source="other")])
            assert time.monotonic() - began < 5
            assert "frozen" not in {event.source for event in read(database)}, "what it had not committed counts"
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def test_a_lock_that_stays_held_is_told_within_a_bounded_time(migrated_server: str) -> None:
    with Database(migrated_server) as holder, Database(migrated_server, busy_seconds=0.5) as database:
        with holder.writing() as connection:
            append(connection, [note(1)])
            # At work, and not idle: only the bound of who waits can help.
            with ThreadPoolExecutor(1) as pool:
                busy = pool.submit(connection.exec_driver_sql, "select pg_sleep(4)")
                began = time.monotonic()
                with pytest.raises(StoreError, match="stood in each other's way"), database.writing() as waiting:
                    append(waiting, [note(2)])
                assert time.monotonic() - began < 3
                busy.result()
        with database.writing() as waiting:
            append(waiting, [note(3)])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ("30s", "1min")),
        ("?options=-clock_timeout%3D5000%20-cidle_in_transaction_session_timeout%3D7000", ("7s", "5s")),
    ],
)
def test_the_bounds_are_there_and_the_address_goes_before_them(
    postgres: PostgresServer, options: str, expected: tuple[str, str]
) -> None:
    with Database(postgres.url() + options) as database, database.reading() as connection:
        names = ("idle_in_transaction_session_timeout", "lock_timeout")
        assert tuple(connection.execute(sa.text(f"show {name}")).scalar_one() for name in names) == expected


def test_a_peer_that_vanishes_is_noticed(postgres: PostgresServer) -> None:
    with Database(postgres.url()) as database, database.reading() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        told = {"tcp_user_timeout": "0", **driver.info.get_parameters()}
    assert int(told["tcp_user_timeout"]) == 25_000
    assert [told[f"keepalives_{name}"] for name in ("idle", "interval", "count")] == ["10", "5", "3"]


def test_thirty_threads_wait_for_one_locked_file_and_all_of_them_write(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(migrated_file.read_bytes())

    def write(number: int) -> str:
        try:
            with database.writing() as connection:
                append(connection, [note(number)])
        except StoreError as error:
            return error.message
        return "written"

    with (
        open_database(f"sqlite:///{path}", purpose="test") as database,
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        ThreadPoolExecutor(30) as pool,
    ):
        holder.execute("begin immediate")
        said = [pool.submit(write, number) for number in range(30)]
        until = time.monotonic() + 20
        while (inside := database.engine.pool.checkedout()) < 30:  # type: ignore[attr-defined]
            assert time.monotonic() < until, f"only {inside} of 30 got a connection to wait with"
            time.sleep(0.02)
        holder.execute("commit")
        assert Counter(each.result(60) for each in said) == {"written": 30}


def test_more_threads_than_connections_are_told_so_in_plain_words(migrated_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(migrated_file.read_bytes())
    with Database(f"sqlite:///{path}", busy_seconds=0.2) as database:
        held = [database.engine.connect() for _ in range(100)]
        try:
            with pytest.raises(StoreError, match="All connections of this process to"), database.reading():
                pass
        finally:
            for each in held:
                each.close()
