"""Databases for the tests: a fresh SQLite file, and a fresh database on a real PostgreSQL that the tests start.

`database_url` is an empty one. `database` is open and has all tables; making them anew for each test would cost more
than the test: they are made once, then copied (SQLite) or emptied (PostgreSQL).
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from tests.postgres import PostgresServer, find_binaries

if TYPE_CHECKING:
    from touchline.store.database import Database


# With it no command asks a person or draws progress; a test that wants that says so itself.
os.environ.pop("CI", None)
# What the person who runs the tests has set for their own Touchline is theirs.
for _name in [
    name
    for name in os.environ
    if name.startswith(("XDG_", "TOUCHLINE_")) and not name.endswith(("KILLS", "SEED", "TEST_CLIS"))
]:
    del os.environ[_name]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Tests that were started in the background of a script ignore Ctrl-C, and so would every command they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that may take long begin first: one of them at the end would keep a single core busy."""
    longest: dict[Path, float] = {}
    for item in items:
        mark = item.get_closest_marker("timeout")
        longest[item.path] = max(longest.get(item.path, 0), mark.args[0] if mark else 0)
    items.sort(key=lambda item: -longest[item.path])


_status: list[int] = []


def pytest_sessionfinish(exitstatus: int) -> None:
    _status.append(int(exitstatus))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """A build that a chosen few tests left unfinished waits in its thread, and Python would wait for that for ever."""
    # Those of a pool are joined at the end, daemons or not.
    waiting = [each for each in threading.enumerate() if each.name.startswith("dbos-executor")]
    if _status and waiting and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"Left while {len(waiting)} threads still wait.", flush=True)
        sys.stderr.flush()
        os._exit(_status[-1])


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


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, to be copied."""
    from touchline.store.migrate import open_database

    path = tmp_path_factory.mktemp("migrated") / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    return path


@pytest.fixture(scope="session")
def migrated_server(postgres: PostgresServer) -> Iterator[str]:
    """A PostgreSQL database with all tables, to be emptied."""
    from touchline.store.migrate import open_database

    with postgres.fresh() as url:
        open_database(url, purpose="test").close()
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An open database with all tables and nothing in them, on SQLite and on PostgreSQL."""
    from touchline.store.migrate import open_database

    if request.param == "sqlite":
        path = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "app.db")
        url = f"sqlite:///{path}"
    else:
        url = request.getfixturevalue("migrated_server")
    with open_database(url, purpose="test") as database:
        if not database.sqlite:
            _empty(database)
        yield database


def _empty(database: Database) -> None:
    import sqlalchemy as sa

    from touchline.store.tables import metadata

    ours = [table.name for table in metadata.sorted_tables if table.name != "meta"]
    with database.writing() as connection:
        # A test may have made a table of its own.
        for name in set(sa.inspect(connection).get_table_names()) - {*ours, "meta", "alembic_version"}:
            connection.execute(sa.text(f"drop table {name}"))
        for name in reversed(ours):
            connection.execute(sa.text(f"delete from {name}"))
        connection.execute(sa.text("delete from meta where key <> 'purpose'"))
