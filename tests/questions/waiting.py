"""A workflow that asks a person and goes on with the answer, in processes that can be killed."""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa

from touchline.engine.opening import connect_engine, running_engine
from touchline.engine.port import Flow
from touchline.engine.workbook import Workbook
from touchline.questions.answering import answer_question
from touchline.questions.asking import ask_person
from touchline.questions.question import NewQuestion, Option
from touchline.sessions.reconciling import reconcile
from touchline.store.migrate import open_database
from touchline.store.place import Place
from touchline.store.statuses import bump

NEW = NewQuestion(
    agent="build_1",
    trigger="task_failed",
    subject="T-001",
    text="T-001 failed twice. Skip it?",
    kind="blocking",
    role="build",
    context="Its check says: no such table.",
    options=(Option(label="skip", implications="T-002 is skipped, too."), Option(label="retry", recommended=True)),
    free_text=False,
    build_id="build_1",
)


def book() -> Workbook:
    made = Workbook()
    made.queue("jobs", slots=2)

    @made.workflow("asks", queue="jobs")
    def asks(flow: Flow) -> str:
        flow.engine.park(NEW.key, then="goes on", args=[], deadline=None)
        return flow.transaction("ask", ask_person, NEW)

    @made.workflow("goes on", queue="jobs")
    def goes_on(flow: Flow) -> str:
        flow.transaction("note", _note, str(flow.answer()))
        return str(flow.answer())

    return made


def _note(connection: sa.Connection, words: str) -> int:
    return bump(connection, "counters", f"went on with {words}", "value")


def work(url: str, until: str, seconds: float = 60.0) -> int:
    """Run the engine until a file is there."""
    place = Place(url=url, origin="given")
    end = time.monotonic() + seconds
    with open_database(url, purpose="test") as database, running_engine(place, database, book(), poll=0.02) as station:
        reconcile(station.engine, database)
        station.engine.start("asks", id="asking")
        while not Path(until).exists() and time.monotonic() < end:
            time.sleep(0.02)
    return 0


def answer(url: str, text: str, person: str) -> int:
    """Answer from a process that runs nothing; 1 when somebody was faster."""
    engine = connect_engine(Place(url=url, origin="given"), book())
    try:
        with open_database(url, purpose="test") as database:
            done = answer_question(engine, database, NEW.key, text, person=person)
    finally:
        engine.close()
    return 0 if done.first else 1
