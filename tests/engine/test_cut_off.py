"""A worker that no longer reaches the database, without a word from anybody: it stops before the others go on."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.engine import sample_jobs
from tests.engine.zygote import Zygote
from tests.postgres import PostgresServer

from touchline.engine.opening import connect_engine, running_engine
from touchline.engine.port import Flow, State
from touchline.engine.workbook import Workbook
from touchline.store.migrate import open_database
from touchline.store.place import Place

WORK = "tests.engine.sample_jobs.work"


class Line:
    """A network line to a server that can be cut: what is sent then is taken, and never arrives while it is cut."""

    def __init__(self, port: int) -> None:
        self._to, self._whole = port, threading.Event()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._ends = [self._door]
        self._threads = [threading.Thread(target=self._open)]
        self.mend()
        self._threads[0].start()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self.mend()
        for each in self._ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in self._ends:
            each.close()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._door.accept()
                self._ends.append(here)
                there = socket.create_connection(("127.0.0.1", self._to))
                self._ends.append(there)
                for one, other in ((here, there), (there, here)):
                    self._threads.append(threading.Thread(target=self._carry, args=(one, other)))
                    self._threads[-1].start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while sent := one.recv(65_536):
                self._whole.wait()
                other.sendall(sent)
        with suppress(OSError):
            other.shutdown(socket.SHUT_WR)


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("cut_off") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.fresh() as made:
        open_database(made, purpose="test").close()
        yield made


@pytest.fixture
def line(postgres: PostgresServer) -> Iterator[Line]:
    made = Line(postgres.port)
    yield made
    made.close()


def wait_until(true: Callable[[], object], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.05)


def through(line: Line, url: str, postgres: PostgresServer) -> str:
    return url.replace(f":{postgres.port}/", f":{line.port}/")


def lives(pid: str) -> bool:
    with suppress(OSError):
        os.kill(int(pid), 0)
        return "sleep" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


@pytest.mark.timeout(120)
def test_a_worker_that_is_cut_off_ends_with_its_agents_and_another_goes_on(
    url: str, postgres: PostgresServer, line: Line, zygote: Zygote, tmp_path: Path
) -> None:
    path, end = tmp_path / "agents", tmp_path / "end"
    first = zygote.spawn(WORK, url=through(line, url, postgres), beat=0.5, ttl=4, end=str(end))
    pids = [first]
    engine = connect_engine(Place(url=url, origin="given"), sample_jobs.book())
    try:
        engine.start("agent", [str(path)], id="agent")
        wait_until(lambda: path.exists() and path.read_text())
        pids.append(zygote.spawn(WORK, url=url, beat=0.5, ttl=4))
        time.sleep(5)  # until the other would judge it
        line.cut()
        wait_until(lambda: len(path.read_text().split()) == 2)
        mine, others = path.read_text().split()
        wait_until(lambda: zygote.poll(first) is not None, 15)
        assert end.read_text().split()[0] == "fenced"
        assert (lives(mine), lives(others)) == (False, True)
    finally:
        engine.cancel("agent")
        engine.close()
        line.mend()
        for pid in pids:
            if zygote.poll(pid) is None:
                sample_jobs.end(pid, signal.SIGTERM)
                zygote.wait(pid)


@pytest.mark.timeout(120)
def test_a_step_that_is_cut_off_is_told_to_stop_and_is_begun_again_when_the_line_is_mended(
    url: str, postgres: PostgresServer, line: Line
) -> None:
    book, log, gate = Workbook(), list[str](), threading.Event()

    @book.workflow("patient")
    def patient(flow: Flow) -> str:
        def long() -> str:
            log.append("begun")
            until = time.monotonic() + 60
            while time.monotonic() < until and not gate.is_set():
                if flow.must_stop():
                    log.append("gave up")
                    raise ValueError("told to stop")
                time.sleep(0.1)
            return "done"

        return flow.step("long", long)

    place = Place(url=through(line, url, postgres), origin="given")
    with (
        open_database(place.url, purpose="test") as database,
        running_engine(place, database, book, poll=0.1, beat=0.3, ttl=3) as station,
    ):
        station.engine.start("patient", [], id="patient")
        wait_until(lambda: log == ["begun"])
        line.cut()
        wait_until(lambda: log == ["begun", "gave up"], 12)
        assert station.fenced
        line.mend()
        # Nobody took over: it goes on itself, and its giving up was no end of the job.
        wait_until(lambda: log == ["begun", "gave up", "begun"])
        wait_until(lambda: not station.fenced, 1)
        gate.set()
        assert station.engine.result("patient", 20) == "done"


@pytest.mark.timeout(120)
def test_a_step_that_asks_whether_to_stop_waits_out_a_restart_of_the_database(
    url: str, postgres: PostgresServer
) -> None:
    book, asked, gate = Workbook(), list[bool](), threading.Event()

    @book.workflow("patient")
    def patient(flow: Flow) -> str:
        def long() -> str:
            until = time.monotonic() + 60
            while time.monotonic() < until and not gate.is_set():
                asked.append(flow.must_stop())
                time.sleep(0.05)
            return "done"

        return flow.step("long", long)

    place = Place(url=url, origin="given")
    with (
        open_database(url, purpose="test") as database,
        running_engine(place, database, book, poll=0.1, beat=0.3, ttl=2) as station,
    ):
        station.engine.start("patient", [], id="patient")
        wait_until(lambda: asked)
        postgres.stop()
        try:
            time.sleep(4)  # longer than a worker may be silent: but nobody could take over meanwhile
        finally:
            postgres.start()
        before = len(asked)
        wait_until(lambda: len(asked) > before + 5)
        gate.set()
        assert station.engine.result("patient", 30) == "done"
        job = station.engine.status("patient")
        assert job is not None
        assert (job.state, job.attempts, any(asked)) == (State.DONE, 1, False)
