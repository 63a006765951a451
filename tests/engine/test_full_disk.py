"""The disk is full in the middle of durable work: when there is space again it goes on by itself, and does all once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.store.small_disk import fill, mounted

from touchline.engine.opening import running_engine
from touchline.engine.port import Flow
from touchline.engine.workbook import Workbook
from touchline.store import statuses
from touchline.store.append import append
from touchline.store.events import NewEvent, read
from touchline.store.migrate import open_database
from touchline.store.place import Place


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "8m") as folder:
        yield folder


def wait_until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)


@pytest.mark.timeout(90)
def test_work_goes_on_when_there_is_space_again(disk: Path) -> None:
    place = Place(url=f"sqlite:///{disk / 'app.db'}", origin="given")
    book, gate, log = Workbook(), threading.Event(), list[str]()

    def effect(connection: sa.Connection) -> int:
        log.append("effect")
        gate.wait(20)
        text = {"role": "x", "text": "y" * 200_000}
        append(connection, [NewEvent(type="ideation.message", payload=text, source="test")])
        return statuses.bump(connection, "counters", "effect", "value")

    def long() -> str:
        log.append("long")
        gate.wait(20)
        return "x" * 100_000

    @book.workflow("writes")
    def writes(flow: Flow) -> int:
        return flow.transaction("effect", effect)

    @book.workflow("returns")
    def returns(flow: Flow) -> int:
        return len(flow.step("long", long))

    with (
        open_database(place.url, purpose="test") as database,
        running_engine(place, database, book, poll=0.05) as station,
    ):
        engine = station.engine
        for name in ("writes", "returns"):
            engine.start(name, [], id=name)
        wait_until(lambda: sorted(log) == ["effect", "long"])
        filler = fill(disk)
        gate.set()
        wait_until(lambda: log.count("effect") > 1 and engine.busy == 1)
        assert not any(job.state.ended for job in engine.list()), "a full disk is no end of the work"
        filler.unlink()
        assert engine.result("writes", 40) == 1
        assert engine.result("returns", 40) == 100_000
        assert log.count("long") == 2, "its end was written although the disk was full"
        assert len(read(database)) == 1
