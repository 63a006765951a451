"""A database that cannot be used: always a clear error with the next step, no password in it, nothing half-written."""

from __future__ import annotations

import os
import random
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from tests.postgres import PostgresServer

from touchline.errors import DatabaseUnreachable, StoreError
from touchline.store.database import Database
from touchline.store.driver_errors import explained
from touchline.store.log_tables import meta
from touchline.store.migrate import open_database

SECRET = "s3cret-word"


def refusal(url: str) -> StoreError:
    """The error of opening it, which must say what to do and keep the password to itself."""
    with pytest.raises(StoreError) as caught:
        open_database(url, purpose="test")
    error = caught.value
    assert error.hint.endswith((".", "createdb")) or "touchline" in error.hint, error.hint
    assert SECRET not in str(error)
    assert "Traceback" not in str(error)
    return error


def write(database: Database, key: str) -> None:
    with database.writing() as connection:
        connection.execute(meta.insert().values(key=key, value="x"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Addresses.


def test_a_kind_that_is_not_known(tmp_path: Path) -> None:
    assert "'mysql'" in refusal(f"mysql://u:{SECRET}@h/db").message


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    error = refusal(f"postgresql://u:{SECRET}@127.0.0.1:{port}/db")
    assert isinstance(error, DatabaseUnreachable)
    assert error.message == f"Nothing answers at postgresql://u@127.0.0.1:{port}/db."


def test_a_host_that_takes_the_connection_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        assert "Nothing answers" in refusal(f"postgresql://u@127.0.0.1:{port}/db?connect_timeout=2").message


def test_a_server_that_is_no_postgresql() -> None:
    code = "import socket,sys; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)\nwhile 1: s.accept()[0].sendall(b'HTTP/1.1 400 Bad Request')"  # noqa: E501
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        port = int(other.stdout.readline())
        try:
            assert isinstance(refusal(f"postgresql://u@127.0.0.1:{port}/db?connect_timeout=5"), DatabaseUnreachable)
        finally:
            other.kill()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("passwrd=y", "passwrd"),
        ("connect_timeout=abc", "connect_timeout"),
        ("sslmode=nonsense", "nonsense"),
        ("keepalives=x", "keepalives"),
    ],
)
def test_an_option_of_the_address_that_does_not_fit(options: str, words: str) -> None:
    error = refusal(f"postgresql://u:{SECRET}@127.0.0.1:9/db?{options}")
    assert isinstance(error, DatabaseUnreachable)
    assert "An option in the address" in error.message
    assert words in error.message
    assert "question mark" in error.hint


def test_a_database_and_a_user_that_the_server_does_not_have(postgres: PostgresServer) -> None:
    for url in (postgres.url("no_such_database"), postgres.url().replace(f"{postgres.user}@", f"nobody:{SECRET}@")):
        error = refusal(url)
        assert "has no such database or user" in error.message
        assert "createdb" in error.hint


def test_a_wrong_password_and_none(postgres: PostgresServer) -> None:
    with _guarded(postgres) as name:
        right = f"postgresql://guarded:{SECRET}@127.0.0.1:{postgres.port}/{name}"
        for wrong in (right.replace(SECRET, f"{SECRET}2"), right.replace(f":{SECRET}", "")):
            assert "refuses this user or password" in refusal(wrong).message
        # The right one opens it, but this user may make no tables there.
        assert "may not do that" in refusal(right).message


@contextmanager
def _guarded(server: PostgresServer) -> Iterator[str]:
    """A database that asks for a password, though the others of the server do not."""
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(server.url().replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create role guarded login password '{SECRET}'".encode())
        connection.execute("create database guarded")
        rules.write_text("host guarded guarded 127.0.0.1/32 scram-sha-256\n" + before)
        connection.execute("select pg_reload_conf()")
        try:
            yield "guarded"
        finally:
            rules.write_text(before)
            connection.execute("select pg_reload_conf()")
            connection.execute("drop database guarded with (force)")
            connection.execute("drop role guarded")


def test_a_server_that_goes_away_and_comes_back(postgres: PostgresServer) -> None:
    with postgres.fresh() as url, open_database(url, purpose="test") as database:
        with pytest.raises(DatabaseUnreachable, match="broke off"):
            _write_and_lose_the_connection(database, postgres)
        write(database, "whole")
        with database.reading() as connection:
            found = connection.execute(sa.select(meta.c.key).where(meta.c.key != "purpose")).scalars().all()
        assert found == ["whole"]


def _write_and_lose_the_connection(database: Database, server: PostgresServer) -> None:
    with database.writing() as connection:
        connection.execute(meta.insert().values(key="half", value="x"))
        mine = connection.exec_driver_sql("select pg_backend_pid()").scalar()
        with psycopg.connect(server.url().replace("+psycopg", "")) as other:
            other.execute("select pg_terminate_backend(%s, 10000)", [mine])
        connection.execute(meta.insert().values(key="more", value="x"))


def test_a_postgresql_that_only_reads(postgres: PostgresServer) -> None:
    with postgres.fresh() as url:
        open_database(url, purpose="test").close()
        with (
            open_database(f"{url}?options=-c%20default_transaction_read_only%3Don", purpose="test") as database,
            pytest.raises(StoreError, match="is read-only"),
        ):
            write(database, "x")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("failed to resolve host 'nowhere': Name or service not known", "host in postgresql://u@h/db is not known"),
        ("FATAL:  sorry, too many clients already", "takes no more connections"),
        ("deadlock detected", "does not answer as it should"),
        ("something never seen", "does not answer as it should: something never seen"),
    ],
)
def test_errors_that_are_hard_to_bring_about(words: str, expected: str) -> None:
    error = exc.OperationalError("select 1", {}, Exception(words))
    assert expected in explained(error, f"postgresql+psycopg://u:{SECRET}@h/db").message


# Files.


@pytest.mark.parametrize(
    "content", [b"Dear diary, " * 500, random.Random(1).randbytes(9000), b"SQLite format 4\0" * 99]
)
def test_a_file_that_is_no_database_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "app.db").write_bytes(content)
    assert "no SQLite database" in refusal(f"sqlite:///{tmp_path / 'app.db'}").message
    assert contents(tmp_path) == {"app.db": content}


def test_a_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(3996) + whole[4096:])
    assert "damaged" in refusal(f"sqlite:///{path}").message


def test_a_folder_in_the_place_of_the_file_and_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "app.db").mkdir()
    assert "cannot be opened" in refusal(f"sqlite:///{tmp_path / 'app.db'}").message
    (tmp_path / "file").write_text("x")
    assert "cannot be made" in refusal(f"sqlite:///{tmp_path / 'file' / 'app.db'}").message


def test_a_folder_with_an_odd_name_is_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "what? 100% #1 & so" / "app.db"
    with open_database(f"sqlite:///{path}", purpose="test") as database:
        write(database, "x")
    assert path.is_file()
    assert [each.name for each in tmp_path.iterdir()] == [path.parent.name]


_HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode=EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("insert into meta values ('held', 'x')")
print("held", flush=True)
time.sleep(600)
"""


def test_a_locked_file_is_waited_for_then_named_and_free_when_its_holder_dies(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        try:
            assert holder.stdout.readline() == "held\n"
            with Database(f"sqlite:///{path}", busy_seconds=0.3) as database:
                with pytest.raises(StoreError) as caught:
                    write(database, "x")
                assert caught.value.message == f"{path} is locked by another program for over 0.3 s."
                assert "End that program" in caught.value.hint
                holder.kill()
                holder.wait(30)
                write(database, "y")
                with database.reading() as connection:
                    assert set(connection.execute(sa.select(meta.c.key)).scalars()) == {"purpose", "y"}
        finally:
            holder.kill()


# Rights. Root may write everywhere, so a process without that privilege tries.

_WITHOUT_PRIVILEGE = """
import ctypes, os, sys
DROP, OVERRIDE, READ_SEARCH = 24, 1, 2
for capability in (OVERRIDE, READ_SEARCH):
    assert ctypes.CDLL(None).prctl(DROP, capability, 0, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""

_TRY = """
import sys
from touchline.errors import TouchlineError
from touchline.store.log_tables import meta
from touchline.store.migrate import open_database
try:
    with open_database(sys.argv[1], purpose="test") as database, database.writing() as connection:
        connection.execute(meta.insert().values(key="x", value="x"))
except TouchlineError as error:
    print(f"{type(error).__name__}: {error}")
else:
    print("written")
"""


def tried(path: Path) -> str:
    command = [sys.executable, "-c", _TRY, f"sqlite:///{path}"]
    if os.geteuid() == 0:
        command = [sys.executable, "-c", _WITHOUT_PRIVILEGE, *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_folder_in_which_one_may_write_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    said = tried(folder / "app.db")
    assert said.startswith(f"DatabaseUnreachable: {folder / 'app.db'} cannot be opened. Check that its folder is there")
    said = tried(folder / "deeper" / "app.db")
    assert said.startswith(f"DatabaseUnreachable: The folder {folder / 'deeper'} cannot be made (Permission denied).")
    assert contents(folder) == {}
    folder.chmod(0o755)


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o555, 0o666), (0o777, 0o444), (0o777, 0o000)])
def test_a_database_that_one_may_not_write(tmp_path: Path, folder_mode: int, file_mode: int) -> None:
    folder = tmp_path / "closed"
    path = folder / "app.db"
    open_database(f"sqlite:///{path}", purpose="test").close()
    (folder / "app.lock").unlink()
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    said = tried(path)
    assert "is read-only" in said or "cannot be opened" in said, said
    assert "--database" in said
    assert [each.name for each in folder.iterdir()] == ["app.db"]
    path.chmod(0o666)
    folder.chmod(0o777)
    assert tried(path) == "written"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
