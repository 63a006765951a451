"""An open, empty database for coordination, on SQLite and on PostgreSQL, and a clock that the tests turn by hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.postgres import PostgresServer

from touchline.store.database import Database
from touchline.store.migrate import open_database
from touchline.store.tables import metadata

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


@pytest.fixture(scope="session")
def made_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables, to be copied: making them anew for each test costs more than the test."""
    path = tmp_path_factory.mktemp("made") / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    return path


@pytest.fixture(scope="session")
def made_postgres(postgres: PostgresServer) -> Iterator[str]:
    """A database with all tables, to be emptied after each test."""
    with postgres.fresh() as url:
        open_database(url, purpose="test").close()
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        path = tmp_path / "app.db"
        shutil.copy(request.getfixturevalue("made_sqlite"), path)
        with open_database(f"sqlite:///{path}", purpose="test") as opened:
            yield opened
        return
    with open_database(request.getfixturevalue("made_postgres"), purpose="test") as opened:
        yield opened
        with opened.writing() as connection:
            ours = [table.name for table in metadata.sorted_tables if table.name != "meta"]
            kept = {*ours, "meta", "alembic_version"}
            for table in set(sa.inspect(connection).get_table_names()) - kept:
                connection.execute(sa.text(f"drop table {table}"))
            for table in reversed(ours):
                connection.execute(sa.text(f"delete from {table}"))
            connection.execute(sa.text("delete from meta where key <> 'purpose'"))
