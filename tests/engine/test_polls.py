"""An engine on SQLite that has nothing to do asks next to nothing, and misses nothing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from touchline.engine import dbos_polls
from touchline.engine.dbos_driver import DbosDriver
from touchline.engine.dbos_settings import engine_file
from touchline.engine.opening import running_engine
from touchline.engine.port import Flow
from touchline.engine.workbook import Workbook
from touchline.store.migrate import open_database
from touchline.store.place import Place

POLL = 0.05


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(url=f"sqlite:///{tmp_path / 'app.db'}", origin="given")


@pytest.fixture
def engine(place: Place) -> Iterator[DbosDriver]:
    book = Workbook()

    @book.workflow("echo")
    def echo(flow: Flow, word: str) -> str:
        return str(flow.step("echo", lambda: word))

    with open_database(place.url, purpose="test") as database, running_engine(place, database, book, poll=POLL) as at:
        assert isinstance(at.engine, DbosDriver)
        yield at.engine


def test_without_work_hardly_a_statement_reaches_the_engines_database(engine: DbosDriver) -> None:
    assert engine.result(engine.start("echo", ["warm"], id="warm"), 20) == "warm"
    asked: list[str] = []
    sa.event.listen(engine._pool, "before_cursor_execute", lambda *args: asked.append(args[2]))
    time.sleep(40 * POLL)
    # DBOS looks for new schedules now and then; each of forty polls of two queues was three statements.
    assert len(asked) <= 10, asked
    assert not [each for each in asked if "workflow_status" in each], "work is looked for by the short question"


def test_delayed_work_is_begun_when_it_is_due(engine: DbosDriver) -> None:
    began = time.monotonic()
    assert engine.result(engine.start("echo", ["late"], id="late", delay=1.0), 20) == "late"
    assert time.monotonic() - began >= 1.0


def test_where_looking_fails_the_engine_asks_itself(engine: DbosDriver) -> None:
    assert engine._glance is not None
    engine._glance.close()
    assert engine.result(engine.start("echo", ["still"], id="still"), 20) == "still"


@pytest.mark.parametrize("question", [dbos_polls._QUEUED, dbos_polls._DUE, dbos_polls._OVERDUE])
def test_no_question_reads_work_that_has_ended(engine: DbosDriver, place: Place, question: str) -> None:
    connection = sqlite3.connect(engine_file(place))
    plan: list[Any] = connection.execute(f"EXPLAIN QUERY PLAN {question} LIMIT 1", ("x",)).fetchall()
    connection.close()
    assert [row[3] for row in plan if "SEARCH" in row[3] and "INDEX" in row[3]] == [row[3] for row in plan]


def test_overdue_work_is_let_through_to_the_engine(engine: DbosDriver, place: Place) -> None:
    engine.start("echo", ["never"], id="never", delay=600)
    with engine._pool.begin() as connection:
        connection.execute(sa.text("UPDATE workflow_status SET workflow_deadline_epoch_ms = 1"))
    until = time.monotonic() + 15
    while (job := engine.status("never")) is None or not job.state.ended:
        assert time.monotonic() < until, "its deadline has passed"
        time.sleep(0.05)
