"""Waiting for news of the log while the server goes away: a clear error, and then it listens again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import event
from tests.postgres import PostgresServer
from tests.store.samples import note

from touchline.errors import DatabaseUnreachable
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.migrate import open_database
from touchline.store.wake import Wake


@contextmanager
def opened(postgres: PostgresServer) -> Iterator[Database]:
    with postgres.fresh() as url, open_database(url, purpose="test") as database:
        yield database


def hears(wake: Wake, database: Database) -> bool:
    """Does a notice come through, long before it would look by itself?"""
    mark = wake.mark()
    with database.writing() as connection:
        append(connection, [note(1)])
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return False

    wake.wait(mark, stop=stop)
    return asked < 5


def test_a_server_that_is_away_is_a_clear_error_and_is_heard_again_afterwards(postgres: PostgresServer) -> None:
    with opened(postgres) as database:
        with Wake(database) as wake:
            assert hears(wake, database)
        postgres.stop()
        try:
            with Wake(database) as wake, pytest.raises(DatabaseUnreachable):
                wake.mark()
        finally:
            postgres.start()
        with Wake(database) as wake:
            assert hears(wake, database)


def test_a_connection_that_breaks_before_it_listens_is_not_taken_for_one_that_does(postgres: PostgresServer) -> None:
    with opened(postgres) as database, Wake(database) as wake:
        database.engine.dispose()

        def broken_off(connection: psycopg.Connection[object], _record: object) -> None:
            with psycopg.connect(postgres.url().replace("+psycopg", ""), autocommit=True) as other:
                other.execute("select pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))

        event.listen(database.engine, "connect", broken_off)
        with pytest.raises(DatabaseUnreachable):
            wake.mark()
        event.remove(database.engine, "connect", broken_off)
        assert hears(wake, database)
