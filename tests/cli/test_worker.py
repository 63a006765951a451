"""`touchline worker`, run as a person runs it: alone on SQLite, several on PostgreSQL, ended kindly."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.command import environment, made, touchline
from tests.postgres import PostgresServer

from touchline.coordination.leases import all_leases
from touchline.engine.opening import connect_engine
from touchline.engine.workbook import Workbook
from touchline.store.events import Event, read
from touchline.store.outbox import enqueue
from touchline.store.place import Place
from touchline.store.tables import heartbeats

BOOK = """
import sys
from pathlib import Path
from touchline.engine.workbook import BOOK

@BOOK.workflow("double")
def double(flow, number):
    return flow.step("double", lambda: number * 2)

@BOOK.workflow("hold")
def hold(flow, path):
    flow.step("take", take, flow.executor, flow.id)
    flow.step("long", wait_for, path)

def take(executor, job):
    from tests.cli.command import made
    from touchline.coordination.leases import acquire, in_process
    with made(sys.argv[sys.argv.index("--database") + 1]) as database:
        acquire(database, holder=in_process(executor, "preview"), resources=["port:8080"])
        acquire(database, holder=job, resources=["file:a"])

def wait_for(path):
    import time
    while not Path(path).exists():
        time.sleep(0.05)

from touchline.__main__ import main
main()
"""
ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def working(url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    """A worker that knows one workflow; ready when this returns."""
    command = [sys.executable, "-c", BOOK, "worker", "--database", url, "--name", name, "--slots", "2"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    try:
        read_until(process, "is at work")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    told = ""
    assert process.stderr is not None
    while words not in told:
        line = process.stderr.readline()
        assert line, told
        told += line
    return told


def wait_until(true: Callable[[], object], seconds: float = 40.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.1)


def leases(url: str) -> dict[str, str]:
    with made(url) as database, database.reading() as connection:
        return {lease.resource: lease.holder for lease in all_leases(connection)}


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


def test_a_worker_sends_what_becomes_due_while_it_works(database_url: str, tmp_path: Path) -> None:
    with working(database_url, "anna") as process:
        with made(database_url) as database, database.writing() as connection:
            body = {"text": "later"}
            enqueue(connection, key="k", channel="file", destination=str(tmp_path / "sent.json"), body=body)
        wait_until((tmp_path / "sent.json").exists)
        ended(process, signal.SIGTERM)


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


def test_who_finds_its_own_number_in_the_lock_file_is_not_yet_the_worker(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    made(url).close()
    with working(url, "first") as process:
        # As in a container, where every worker may have the same process id.
        lock = tmp_path / "app.db.supervisor.lock"
        script = 'printf %s "$$" > "$0"; exec "$@"'
        command = [sys.executable, "-m", "touchline", "worker", "--database", url, "--name", "second"]
        second = subprocess.run(
            ["sh", "-c", script, str(lock), *command], capture_output=True, text=True, check=False, env=environment()
        )
        assert second.returncode == 2
        assert "already has its supervisor" in second.stderr
        assert "is at work" not in second.stderr
        ended(process, signal.SIGTERM)
    assert {event.payload["component"] for event in told_in_log(url)} == {"worker:first"}


def test_what_a_killed_worker_held_is_given_back_by_the_next_one(database_url: str, tmp_path: Path) -> None:
    book = Workbook()
    book.workflow("hold")(lambda _flow, path: path)
    engine = connect_engine(Place(url=database_url, origin="given"), book)
    with working(database_url, "first") as first:
        engine.start("hold", [str(tmp_path / "go")], id="job-1")
        wait_until(lambda: len(leases(database_url)) == 2)
        first.kill()
    if not database_url.startswith("sqlite"):
        # As if it had been silent for long: the next one need not wait for it.
        with made(database_url) as database, database.writing() as connection:
            long_ago = datetime.fromtimestamp(0, UTC)
            connection.execute(heartbeats.update().where(heartbeats.c.kind == "executor").values(beat_at=long_ago))
    with working(database_url, "second") as second:
        wait_until(lambda: "port:8080" not in leases(database_url))
        # The job's own lease stays with the job, which goes on.
        assert leases(database_url) == {"file:a": "job-1"}
        (tmp_path / "go").touch()
        engine.result("job-1", timeout=40)
        engine.close()
        ended(second, signal.SIGTERM)


def test_a_worker_needs_a_database_that_answers() -> None:
    done = touchline("worker", "--wait", "0", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 2
    assert "answers" in done.stderr
    assert "Waiting" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_waits_for_a_server_that_is_away(postgres: PostgresServer) -> None:
    with postgres.fresh() as url:
        postgres.stop()
        command = [sys.executable, "-m", "touchline", "worker", "--wait", "50", "--database", url]
        worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(PYTHONUNBUFFERED="1"))
        try:
            assert "Nothing answers" in read_until(worker, "Waiting for it, 50 s at most")
            postgres.start()
            read_until(worker, "is at work")
            ended(worker, signal.SIGTERM)
        finally:
            if worker.poll() is None:
                worker.kill()
            worker.communicate()
            if not postgres.runs:
                postgres.start()


@pytest.mark.parametrize("name", ["x" * 101, "two\nlines", " space"])
def test_a_name_that_nobody_could_read_is_refused(tmp_path: Path, name: str) -> None:
    done = touchline("worker", "--database", tmp_path / "app.db", "--name", name)
    assert done.returncode == 2
    assert "--name" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_second_worker_of_the_same_name_is_told_so(postgres: PostgresServer) -> None:
    with postgres.fresh() as url, working(url, "twin") as first:
        second = subprocess.Popen(
            [sys.executable, "-m", "touchline", "worker", "--database", url, "--name", "twin"],
            stderr=subprocess.PIPE,
            text=True,
            env=environment(PYTHONUNBUFFERED="1"),
        )
        try:
            told = read_until(second, "is at work")
            assert "A worker called twin was alive" in told
            assert f"process {first.pid} " in told
            ended(second, signal.SIGTERM)
        finally:
            if second.poll() is None:
                second.kill()
            second.communicate()


def test_a_test_worker_has_no_default_database(tmp_path: Path) -> None:
    done = touchline("worker", HOME=str(tmp_path), XDG_DATA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "A test has no default database" in done.stderr
    assert list(tmp_path.iterdir()) == []
