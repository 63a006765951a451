"""An open, empty database for each test: migrated once, then emptied (PostgreSQL) or copied (SQLite)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import PostgresServer

from touchline.store.database import Database
from touchline.store.migrate import open_database
from touchline.store.tables import metadata


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    return path


@pytest.fixture(scope="session")
def migrated_server(postgres: PostgresServer) -> Iterator[str]:
    with postgres.fresh() as url:
        open_database(url, purpose="test").close()
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """On SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "app.db")
        url = f"sqlite:///{tmp_path / 'app.db'}"
    else:
        url = request.getfixturevalue("migrated_server")
    with open_database(url, purpose="test") as database:
        if not database.sqlite:
            with database.writing() as connection:
                for table in reversed(metadata.sorted_tables):
                    if table.name != "meta":
                        connection.execute(table.delete())
        yield database
