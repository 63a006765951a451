"""Workers for the tests of many processes: small jobs whose effect is counted in our own tables."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from touchline.engine.port import Flow
from touchline.engine.workbook import Workbook
from touchline.engine.worker import leave, run_worker
from touchline.errors import StoreError
from touchline.processes.children import run_process
from touchline.store import statuses
from touchline.store.place import Place


def book() -> Workbook:
    made = Workbook()
    made.queue("jobs", slots=4)

    def effect(connection: sa.Connection, number: int) -> int:
        return statuses.bump(connection, "counters", f"job:{number}", "value")

    @made.workflow("job", queue="jobs", beginnings=10_000)
    def job(flow: Flow, number: int) -> int:
        flow.step("think", think, flow, random.uniform(0.05, 0.3))
        count = flow.transaction("effect", effect, number)
        flow.step("afterwards", time.sleep, 0.01)
        return count

    @made.workflow("slow", queue="jobs")
    def slow(flow: Flow, number: int, path: str) -> int:
        flow.step("first", note, path, "first")
        flow.step("long", wait_for_file, path)
        return flow.transaction("effect", effect, number)

    @made.workflow("agent", queue="jobs")
    def agent(flow: Flow, path: str) -> int:
        """Runs a program that would run for ever, and leaves its number in a file."""
        command = ["sh", "-c", f"echo $$ >> {path}; exec sleep 600"]
        records = Path(path).parent / "children"
        return flow.step("run", lambda: run_process(command, records=records, must_stop=flow.must_stop).exit_code)

    @made.workflow("pulse", queue="jobs")
    def pulse(flow: Flow, path: str) -> int:
        return flow.step("long", wait_for_file, path, True)

    return made


def think(flow: Flow, seconds: float) -> None:
    """As a step does that waits for a program: it asks meanwhile whether to give up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not flow.must_stop():
        time.sleep(0.02)


def note(path: str, word: str) -> None:
    with Path(path).open("a") as sink:
        sink.write(f"{word} {os.getpid()}\n")


def wait_for_file(path: str, pulse: bool = False) -> int:
    note(path, "long")
    until = time.monotonic() + 60
    while not Path(path + ".go").exists() and time.monotonic() < until:
        time.sleep(0.02)
        if pulse:
            note(path, "pulse")
    return os.getpid()


def work(
    url: str,
    slots: int = 4,
    beat: float = 0.3,
    ttl: float = 2.0,
    end: str = "",
    grace: float = 5,
    dead: str = "",
    linger: float = 0,
    broken: str = "",
) -> int:
    """A worker, until SIGTERM. How it ended is written to the file `end`; then it takes its time to leave.

    `broken`: a file; once it is there, putting things in order at the start fails."""

    def ready() -> None:
        until = time.monotonic() + 60
        while broken and time.monotonic() < until:
            if Path(broken).exists():
                raise StoreError("The server broke off.")
            time.sleep(0.02)

    done = run_worker(
        Place(url=url, origin="given"),
        slots=slots,
        stop=threading.Event(),
        workbook=book(),
        beat=beat,
        ttl=ttl,
        poll=0.05,
        grace=grace,
        purpose="test",
        ready=ready,
        when_dead=lambda executor: note(dead, executor) if dead else None,
    )
    if end:
        Path(end).write_text(f"{done.reason} {done.unfinished}")
    time.sleep(linger)
    leave(done, 0)


def tick_book(folder: Path) -> Workbook:
    made = Workbook()

    @made.workflow("tock")
    def tock(flow: Flow, at: datetime) -> None:
        flow.step("note", note, str(folder / "ticks"), at.isoformat())

    made.every("every-second", 1, "tock")
    return made


def tick(url: str, folder: str) -> int:
    place = Place(url=url, origin="given")
    run_worker(place, workbook=tick_book(Path(folder)), beat=0.3, ttl=2, poll=0.05, purpose="test", grace=3)
    return 0


def end(pid: int, how: signal.Signals = signal.SIGKILL) -> None:
    os.kill(pid, how)
