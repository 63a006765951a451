"""One SQLite file has one supervisor; what it began, the next one goes on with, whatever its version."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine import sample_jobs, sample_programs
from tests.engine.zygote import ROOT, Zygote

from touchline.engine.opening import connect_engine
from touchline.engine.port import Engine, State
from touchline.errors import EngineError
from touchline.store.place import Place

SUPERVISE = "tests.engine.sample_programs.supervise"


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("supervisor") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


@pytest.fixture
def spawn(zygote: Zygote, tmp_path: Path) -> Iterator[Callable[..., int]]:
    pids: list[int] = []

    def start(**arguments: Any) -> int:
        (tmp_path / "up").unlink(missing_ok=True)
        pids.append(zygote.spawn(SUPERVISE, folder=str(tmp_path), **arguments))
        wait_until(lambda: (tmp_path / "up").exists())
        return pids[-1]

    yield start
    for pid in pids:
        if zygote.poll(pid) is None:
            sample_jobs.end(pid)
            zygote.wait(pid)


def wait_until(true: Callable[[], object], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)


def words(folder: Path) -> list[str]:
    path = folder / "steps"
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


def client(folder: Path) -> Engine:
    place = Place(url=f"sqlite:///{folder / 'app.db'}", origin="given")
    return connect_engine(place, sample_programs.book(folder))


def kill(zygote: Zygote, pid: int) -> None:
    sample_jobs.end(pid)
    assert zygote.wait(pid) == -9


def test_a_second_process_is_refused_and_touches_nothing(
    zygote: Zygote, spawn: Callable[..., int], tmp_path: Path
) -> None:
    first = spawn(start=["slow"])
    wait_until(lambda: words(tmp_path) == ["first", "long"])
    assert zygote.run("tests.engine.sample_programs.intrude", folder=str(tmp_path)) == 0
    refused = (tmp_path / "refused").read_text()
    assert f"already has its supervisor (process {first})" in refused
    assert "PostgreSQL" in refused
    assert (tmp_path / "seen").read_text() == "running 1"
    (tmp_path / "steps.go").touch()
    engine = client(tmp_path)
    assert engine.result("slow", 20) == "done"
    assert words(tmp_path) == ["first", "long", "late", "last"]
    job = engine.status("slow")
    assert job is not None
    assert (job.state, job.attempts, job.executor) == (State.DONE, 1, "local")
    engine.close()


def test_the_next_supervisor_goes_on_where_the_last_one_died(
    zygote: Zygote, spawn: Callable[..., int], tmp_path: Path
) -> None:
    first = spawn(start=["slow"])
    wait_until(lambda: words(tmp_path) == ["first", "long"])
    kill(zygote, first)
    (tmp_path / "steps.go").touch()
    spawn()
    engine = client(tmp_path)
    assert engine.result("slow", 20) == "done"
    assert words(tmp_path) == ["first", "long", "long", "last"]
    engine.close()


def test_a_timer_keeps_its_time_over_a_restart(zygote: Zygote, spawn: Callable[..., int], tmp_path: Path) -> None:
    began = time.time()
    kill(zygote, spawn(start=["late"], delay=3.0))
    engine = client(tmp_path)
    job = engine.status("late")
    assert job is not None
    assert job.state is State.WAITING
    spawn()
    assert engine.result("late", 20) - began >= 3.0
    assert words(tmp_path) == ["late"]
    engine.close()


def test_a_sleep_keeps_its_time_over_a_restart(zygote: Zygote, spawn: Callable[..., int], tmp_path: Path) -> None:
    first = spawn(start=["sleeper"])
    wait_until(lambda: words(tmp_path) == ["asleep"])
    time.sleep(0.3)
    kill(zygote, first)
    time.sleep(2)
    spawn()
    engine = client(tmp_path)
    # Slept anew from the restart it would be well over six seconds.
    assert 4.0 <= engine.result("sleeper", 20) < 6
    engine.close()


def test_an_upgrade_goes_on_with_what_was_begun_before_it(
    zygote: Zygote, spawn: Callable[..., int], tmp_path: Path
) -> None:
    first = spawn(start=["changing"], release="old")
    wait_until(lambda: words(tmp_path) == ["first", "second", "long"])
    engine = client(tmp_path)
    engine.start("late", [], id="queued-before")
    kill(zygote, first)
    (tmp_path / "steps.go").touch()
    (tmp_path / "steps").unlink()
    spawn(release="new")
    assert engine.result("changing", 20) == "done"
    engine.result("queued-before", 20)
    # It was past the changed place before the change, and ends as it began.
    assert sorted(words(tmp_path)) == ["last", "late", "long"]
    (tmp_path / "steps").unlink()
    engine.start("changing", [], id="begun-afterwards")
    assert engine.result("begun-afterwards", 20) == "done"
    assert words(tmp_path) == ["first", "check", "second", "long", "last"]
    engine.close()


def test_a_worker_stops_when_told_and_says_so(zygote: Zygote, tmp_path: Path) -> None:
    lock = tmp_path / "app.db.supervisor.lock"
    for _ in range(2):
        lock.unlink(missing_ok=True)
        url, end = f"sqlite:///{tmp_path / 'app.db'}", str(tmp_path / "end")
        pid = zygote.spawn("tests.engine.sample_jobs.work", url=url, end=end)
        wait_until(lambda: lock.exists() and lock.read_text() == str(pid))  # noqa: B023
        sample_jobs.end(pid, signal.SIGTERM)
        assert zygote.wait(pid) == 0
        assert (tmp_path / "end").read_text() == "stopped 0"


def test_a_worker_that_is_leaving_keeps_the_file_until_its_threads_are_gone(zygote: Zygote, tmp_path: Path) -> None:
    url, end, path = f"sqlite:///{tmp_path / 'app.db'}", tmp_path / "end", tmp_path / "steps"
    place = Place(url=url, origin="given")
    first = zygote.spawn("tests.engine.sample_jobs.work", url=url, end=str(end), grace=1, linger=6)
    pids = [first]
    try:
        wait_until(lambda: (tmp_path / "engine.db").exists())
        engine = connect_engine(place, sample_jobs.book())
        engine.start("pulse", [str(path)], id="pulse")
        wait_until(lambda: len(words(tmp_path)) > 5)
        sample_jobs.end(first, signal.SIGTERM)
        wait_until(end.exists)
        assert end.read_text() == "stopped 1"
        # It still has a thread in the step: nobody may begin that step a second time.
        early = zygote.spawn("tests.engine.sample_jobs.work", url=url)
        pids.append(early)
        wait_until(lambda: zygote.poll(early) is not None)
        assert zygote.wait(early) == 1
        assert zygote.poll(first) is None, "it ended before it could be tried"
        assert zygote.wait(first) == 0
        heir = zygote.spawn("tests.engine.sample_jobs.work", url=url)
        pids.append(heir)
        wait_until(lambda: words(tmp_path).count("long") == 2)
        (tmp_path / "steps.go").touch()
        assert engine.result("pulse", 20) == heir
        engine.close()
    finally:
        for pid in pids:
            if zygote.poll(pid) is None:
                sample_jobs.end(pid)
                zygote.wait(pid)


def test_the_engine_writes_nothing_to_the_terminal(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.engine.sample_programs import supervise; from pathlib import Path; "
        "(Path(sys.argv[1]) / 'stop').touch(); supervise(sys.argv[1], start=['late'])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_engine_database_that_cannot_be_reached_is_a_clear_error() -> None:
    place = Place(url="postgresql+psycopg://nobody@127.0.0.1:9/nothing", origin="given")
    with pytest.raises(EngineError, match="does not answer"):
        connect_engine(place)
