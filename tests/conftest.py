"""Databases for the tests: a fresh SQLite file, and a fresh database on a real PostgreSQL that the tests start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.postgres import PostgresServer, find_binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of our own, on a free port of the loopback, ended with the tests."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed; scripts/test-tools installs it")
    # Not in pytest's folder: only root may enter that one, and another test run may clear it away.
    with TemporaryDirectory(prefix="touchline-postgres-") as folder, PostgresServer(binaries, Path(folder)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database, once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'app.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.fresh() as url:
        yield url
