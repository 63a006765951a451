"""What the port promises, on both databases: order, limits, messages, timers, answers, cancel and resume."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from tests.postgres import PostgresServer

from touchline.engine.dbos_driver import DbosDriver
from touchline.engine.opening import connect_engine, running_engine
from touchline.engine.port import Flow, State
from touchline.engine.retention import forget_ended
from touchline.engine.workbook import Workbook
from touchline.errors import EngineError
from touchline.store import statuses
from touchline.store.database import Database
from touchline.store.log_tables import counters, step_results
from touchline.store.migrate import open_database
from touchline.store.place import Place

NUMBERS = count(1)


@dataclass
class Stage:
    """An engine that runs, and what its workflows did in this process."""

    engine: DbosDriver
    database: Database
    place: Place
    book: Workbook
    log: list[Any] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    at_once: int = 0
    most_at_once: int = 0

    def new(self, name: str = "job") -> str:
        return f"{name}-{next(NUMBERS)}"

    def seen(self, word: str) -> int:
        return self.log.count(word)


def wait_until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)


def fill(book: Workbook, stage: Callable[[], Stage]) -> None:
    lock = threading.Lock()
    book.queue("one", slots=1)
    book.queue("two", slots=2)

    @book.workflow("echo")
    def echo(flow: Flow, value: Any) -> Any:
        return flow.step("echo", lambda: value)

    @book.workflow("noted", queue="one")
    def noted(flow: Flow, word: str) -> None:
        flow.step("note", lambda: stage().log.append(word))

    @book.workflow("gated", queue="one")
    def gated(flow: Flow, word: str) -> str:
        flow.step("before", lambda: stage().log.append(f"{word} before"))
        flow.step("gate", lambda: stage().gate.wait(20))
        flow.step("after", lambda: stage().log.append(f"{word} after"))
        return word

    @book.workflow("crowd", queue="two")
    def crowd(flow: Flow, _: int) -> None:
        def inside() -> None:
            with lock:
                stage().at_once += 1
                stage().most_at_once = max(stage().most_at_once, stage().at_once)
            time.sleep(0.15)
            with lock:
                stage().at_once -= 1

        flow.step("inside", inside)

    @book.workflow("listener")
    def listener(flow: Flow, timeout: float) -> list[Any]:
        return [flow.receive("words", timeout), flow.receive("words", timeout)]

    @book.workflow("rest")
    def rest(flow: Flow, name: str) -> list[Any]:
        return [name, flow.answer()]

    @book.workflow("flaky")
    def flaky(flow: Flow, word: str, tries: int) -> int:
        def attempt() -> int:
            stage().log.append(word)
            if stage().seen(word) < 2:
                raise ValueError("not yet")
            return stage().seen(word)

        return flow.step("attempt", attempt, tries=tries)

    @book.workflow("endless")
    def endless(flow: Flow, word: str) -> str:
        async def forever() -> str:
            stage().log.append(f"{word} begun")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                stage().log.append(f"{word} interrupted")
                raise
            return word

        return flow.step("forever", forever)

    @book.workflow("patient")
    def patient(flow: Flow, word: str) -> str:
        def long() -> str:
            stage().log.append(f"{word} begun")
            until = time.monotonic() + 20
            while time.monotonic() < until and not flow.must_stop():
                time.sleep(0.05)
            stage().log.append(f"{word} gave up")
            return word

        return flow.step("long", long)

    @book.workflow("booked")
    def booked(flow: Flow, name: str) -> list[int]:
        def add(connection: sa.Connection) -> int:
            return statuses.bump(connection, "counters", name, "value")

        return [flow.transaction("add", add) for _ in range(3)]

    @book.workflow("half")
    def half(flow: Flow, name: str) -> None:
        flow.transaction("add", lambda connection: statuses.bump(connection, "counters", name, "value"))
        flow.step("note", lambda: stage().log.append(name))
        flow.receive("go", 30)

    @book.workflow("spoilt")
    def spoilt(flow: Flow, name: str) -> None:
        def fail(connection: sa.Connection) -> None:
            statuses.bump(connection, "counters", name, "value")
            raise ValueError("half-way")

        flow.transaction("fail", fail)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    if request.param == "sqlite":
        yield from staged(f"sqlite:///{tmp_path_factory.mktemp('engine') / 'app.db'}")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.fresh() as url:
        yield from staged(url)


def staged(url: str) -> Iterator[Stage]:
    place = Place(url=url, origin="given")
    book = Workbook()
    made: list[Stage] = []
    fill(book, lambda: made[0])
    with (
        open_database(url, purpose="test") as database,
        running_engine(place, database, book, poll=0.05) as station,
    ):
        made.append(Stage(engine=station.engine, database=database, place=place, book=book))
        yield made[0]


def test_a_start_with_the_same_id_is_the_same_job(stage: Stage) -> None:
    id = stage.new()
    assert stage.engine.start("echo", [{"a": [1, None, "é"]}], id=id) == id
    stage.engine.start("echo", ["something else"], id=id)
    assert stage.engine.result(id, 15) == {"a": [1, None, "é"]}
    stage.engine.start("echo", ["once more"], id=id)
    assert stage.engine.result(id, 15) == {"a": [1, None, "é"]}
    with pytest.raises(EngineError, match="same ID"):
        stage.engine.start("noted", ["x"], id=id)


def test_only_json_goes_in_and_an_id_is_needed(stage: Stage) -> None:
    with pytest.raises(EngineError, match="JSON"):
        stage.engine.start("echo", [object()], id=stage.new())
    with pytest.raises(EngineError, match="id"):
        stage.engine.start("echo", [1], id=" ")


def test_unknown_jobs(stage: Stage) -> None:
    assert stage.engine.status("nobody") is None
    assert stage.engine.answer("nobody", 1) is False
    for call in (
        lambda: stage.engine.result("nobody", 1),
        lambda: stage.engine.resume("nobody"),
        lambda: stage.engine.send("nobody", "words", 1),
    ):
        with pytest.raises(EngineError, match="nobody"):
            call()


def test_smaller_priorities_go_first_then_who_came_first(stage: Stage) -> None:
    blocker = stage.engine.start("gated", ["prio"], id=stage.new())
    wait_until(lambda: stage.seen("prio before") == 1)
    stage.log.clear()
    ids = [
        stage.engine.start("noted", [f"p{priority}"], id=stage.new(), priority=priority)
        for priority in (300, None, 5, 200, 1)
    ]
    stage.gate.set()
    stage.engine.result(blocker, 15)
    for id in ids:
        stage.engine.result(id, 15)
    assert [word for word in stage.log if word != "prio after"] == ["p1", "p5", "pNone", "p200", "p300"]
    stage.gate.clear()


def test_a_queue_runs_no_more_than_its_slots(stage: Stage) -> None:
    ids = [stage.engine.start("crowd", [n], id=stage.new()) for n in range(7)]
    for id in ids:
        stage.engine.result(id, 30)
    assert stage.most_at_once == 2


def test_messages_wait_and_come_once_per_key(stage: Stage) -> None:
    id = stage.engine.start("listener", [10.0], id=stage.new())
    stage.engine.send(id, "words", "a", key=f"{id}-a")
    stage.engine.send(id, "words", "a", key=f"{id}-a")
    stage.engine.send(id, "words", {"b": 2})
    assert stage.engine.result(id, 15) == ["a", {"b": 2}]
    silent = stage.engine.start("listener", [0.2], id=stage.new())
    assert stage.engine.result(silent, 15) == [None, None]


def test_a_delayed_job_holds_no_slot_and_runs_at_its_time(stage: Stage) -> None:
    began = time.time()
    late = stage.engine.start("noted", ["late"], id=stage.new(), delay=1.5)
    job = stage.engine.status(late)
    assert job is not None
    assert job.state is State.WAITING
    assert job.due_at is not None
    assert abs(job.due_at.timestamp() - began - 1.5) < 1
    stage.engine.result(stage.engine.start("noted", ["early"], id=stage.new()), 15)
    assert stage.seen("late") == 0
    stage.engine.result(late, 15)
    assert time.time() - began >= 1.5


def test_parked_work_is_woken_by_the_first_answer(stage: Stage) -> None:
    key = stage.new("question")
    id = stage.engine.park(key, then="rest", args=["work"], deadline=None)
    assert stage.engine.park(key, then="rest", args=["again"], deadline=None) == id
    assert stage.engine.answer(key, {"choice": "left"})
    stage.engine.answer(key, {"choice": "right"})
    assert stage.engine.result(id, 15) == ["work", {"choice": "left"}]
    assert stage.engine.answer(key, "too late") is False


def test_parked_work_goes_on_at_the_deadline_without_an_answer(stage: Stage) -> None:
    deadline = datetime.now(UTC) + timedelta(seconds=1)
    id = stage.engine.park(stage.new("question"), then="rest", args=["work"], deadline=deadline)
    assert stage.engine.result(id, 15) == ["work", None]
    assert datetime.now(UTC) >= deadline


def test_a_step_is_tried_as_often_as_it_may_be(stage: Stage) -> None:
    assert stage.engine.result(stage.engine.start("flaky", ["f2", 2], id=stage.new()), 15) == 2
    failed = stage.engine.start("flaky", ["f1", 1], id=stage.new())
    with pytest.raises(EngineError, match="not yet"):
        stage.engine.result(failed, 15)
    job = stage.engine.status(failed)
    assert job is not None
    assert job.state is State.FAILED
    assert "ValueError: not yet" in job.error


def test_cancelled_while_queued_it_never_runs_and_resumed_it_does(stage: Stage) -> None:
    blocker = stage.engine.start("gated", ["c"], id=stage.new())
    wait_until(lambda: stage.seen("c before") == 1)
    id = stage.engine.start("noted", ["cancelled"], id=stage.new())
    stage.engine.cancel(id)
    stage.gate.set()
    stage.engine.result(blocker, 15)
    with pytest.raises(EngineError, match="cancelled"):
        stage.engine.result(id, 15)
    assert stage.seen("cancelled") == 0
    stage.engine.resume(id)
    stage.engine.result(id, 15)
    assert stage.seen("cancelled") == 1
    stage.gate.clear()


def test_cancelled_while_running_it_stops_before_its_next_step_and_goes_on_there(stage: Stage) -> None:
    id = stage.engine.start("gated", ["r"], id=stage.new())
    wait_until(lambda: stage.seen("r before") == 1)
    stage.engine.cancel(id)
    stage.gate.set()
    time.sleep(1.5)  # long enough for its thread to look, on a busy machine too
    assert stage.seen("r after") == 0
    stage.engine.resume(id)
    assert stage.engine.result(id, 15) == "r"
    assert (stage.seen("r before"), stage.seen("r after")) == (1, 1)
    stage.engine.cancel(id)
    assert stage.engine.result(id, 1) == "r"
    stage.gate.clear()


def test_cancel_interrupts_an_asynchronous_step_and_tells_a_synchronous_one(stage: Stage) -> None:
    for workflow, word in (("endless", "interrupted"), ("patient", "gave up")):
        name = stage.new(workflow)
        id = stage.engine.start(workflow, [name], id=name)
        wait_until(lambda name=name: stage.seen(f"{name} begun") == 1)  # type: ignore[misc]
        stage.engine.cancel(id)
        wait_until(lambda name=name, word=word: stage.seen(f"{name} {word}") == 1)  # type: ignore[misc]


def test_transactions_are_whole_or_nothing(stage: Stage) -> None:
    name = stage.new("counter")
    assert stage.engine.result(stage.engine.start("booked", [name], id=stage.new()), 15) == [1, 2, 3]
    spoilt = stage.new("counter")
    id = stage.engine.start("spoilt", [spoilt], id=stage.new())
    with pytest.raises(EngineError, match="half-way"):
        stage.engine.result(id, 15)
    with stage.database.reading() as connection:
        assert connection.execute(sa.select(counters.c.value).where(counters.c.name == spoilt)).scalar() is None


def test_listing_by_state_workflow_and_prefix(stage: Stage) -> None:
    prefix = stage.new("listed")
    first, second = (stage.engine.start("echo", [n], id=f"{prefix}/{n}") for n in (1, 2))
    waiting = stage.engine.start("echo", [3], id=f"{prefix}/3", delay=500)
    stage.engine.result(first, 15)
    stage.engine.result(second, 15)
    assert {job.id for job in stage.engine.list(prefix=prefix)} == {first, second, waiting}
    assert {job.id for job in stage.engine.list(prefix=prefix, states=[State.DONE])} == {first, second}
    assert [job.id for job in stage.engine.list(prefix=prefix, states=[State.WAITING])] == [waiting]
    assert stage.engine.list(prefix=prefix, workflow="noted") == []
    stage.engine.cancel(waiting)


def test_what_ended_can_be_forgotten_and_what_waits_cannot(stage: Stage) -> None:
    def kept(id: str) -> int:
        with stage.database.reading() as connection:
            found = sa.select(sa.func.count()).where(step_results.c.key.like(f"{id}/%"))
            return int(connection.execute(found).scalar_one())

    id = stage.engine.start("booked", [stage.new("counter")], id=stage.new())
    stage.engine.result(id, 15)
    name = stage.new("half")
    half = stage.engine.start("half", [name], id=name)
    wait_until(lambda: stage.seen(name) == 1)
    assert (kept(id), kept(half)) == (3, 1)
    assert forget_ended(stage.engine, stage.database, datetime.now(UTC) - timedelta(days=1)) == 0
    assert forget_ended(stage.engine, stage.database, datetime.now(UTC) + timedelta(seconds=5)) >= 1
    assert stage.engine.status(id) is None
    assert stage.engine.status(half) is not None
    assert (kept(id), kept(half)) == (0, 1)
    stage.engine.send(half, "go", 1)
    stage.engine.result(half, 15)


def test_work_booked_on_a_process_that_does_not_run_it_is_found_and_queued_again(stage: Stage) -> None:
    """As when the connection is lost just after jobs were taken."""
    id = stage.engine.start("echo", ["found"], id=stage.new(), delay=500)
    schema = "" if stage.database.sqlite else "touchline_engine."
    with stage.engine._pool.begin() as connection:
        connection.execute(
            sa.text(f"update {schema}workflow_status set status='PENDING', executor_id=:me where workflow_uuid=:id"),
            {"me": stage.engine.executor, "id": id},
        )
    assert stage.engine.strays() == {id}
    assert stage.engine.executors_at_work() == {stage.engine.executor}
    assert stage.engine.requeue(id)
    assert stage.engine.result(id, 15) == "found"
    assert not stage.engine.requeue(id)


def test_a_client_starts_and_sees_but_runs_nothing(stage: Stage) -> None:
    client = connect_engine(stage.place, stage.book)
    try:
        assert (client.drives, stage.engine.drives) == (False, True)
        id = client.start("echo", ["from outside"], id=stage.new())
        assert client.result(id, 15) == "from outside"
    finally:
        client.close()
