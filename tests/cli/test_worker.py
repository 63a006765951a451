"""`touchline worker`, run as a person runs it: alone on SQLite, several on PostgreSQL, ended kindly."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.command import environment, made, touchline

from touchline.engine.opening import connect_engine
from touchline.engine.workbook import Workbook
from touchline.store.events import Event, read
from touchline.store.place import Place

BOOK = """
import sys
from touchline.engine.workbook import BOOK

@BOOK.workflow("double")
def double(flow, number):
    return flow.step("double", lambda: number * 2)

from touchline.__main__ import main
main()
"""


@contextmanager
def working(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that knows one workflow; ready when this returns."""
    command = [sys.executable, "-c", BOOK, "worker", "--database", url, "--name", name, "--slots", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(PYTHONUNBUFFERED="1")
    )
    try:
        told = ""
        assert process.stderr is not None
        while "is at work" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], number: signal.Signals) -> str:
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert "Traceback" not in told
    return told


def told_in_log(url: str) -> list[Event]:
    with made(url) as database:
        return read(database, patterns=("component.*",))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_runs_jobs_and_ends_kindly(database_url: str, number: signal.Signals) -> None:
    book = Workbook()
    book.workflow("double")(lambda _flow, number: number)
    place = Place(url=database_url, origin="given")
    with working(database_url, "anna") as process:
        engine = connect_engine(place, book)
        try:
            engine.start("double", [21], id="job-1")
            assert engine.result("job-1", timeout=40) == 42
        finally:
            engine.close()
        assert "Worker anna has ended" in ended(process, number)
    log = told_in_log(database_url)
    assert [event.type for event in log] == ["component.started", "component.stopped"]
    assert {event.payload["component"] for event in log} == {"worker:anna"}


def test_a_second_worker_on_the_same_sqlite_file_is_told_why_not(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    made(url).close()
    with working(url, "first") as process:
        second = touchline("worker", "--database", url, "--name", "second")
        assert second.returncode == 2
        assert "already has its supervisor" in second.stderr
        assert str(process.pid) in second.stderr
        assert "PostgreSQL" in second.stderr
        ended(process, signal.SIGTERM)
    assert {event.payload["component"] for event in told_in_log(url)} == {"worker:first"}


def test_a_worker_needs_a_database_that_answers() -> None:
    done = touchline("worker", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 2
    assert "answers" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_test_worker_has_no_default_database(tmp_path: Path) -> None:
    done = touchline("worker", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "A test has no default database" in done.stderr
    assert list(tmp_path.iterdir()) == []
