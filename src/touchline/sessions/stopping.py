"""How is a session stopped, and how does it go on? A person's two words to it, each safe to be said twice."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from touchline.engine.port import Engine
from touchline.errors import SessionError
from touchline.questions.answering import record_answer, wake
from touchline.questions.asking import question_record, withdraw
from touchline.questions.question import QuestionRecord
from touchline.sessions.events import about
from touchline.sessions.records import SessionRecord, job_id, session_record, turns_of_session
from touchline.sessions.starting import WORKFLOW
from touchline.sessions.state import Order
from touchline.sessions.texts import storable, text
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.statuses import bump, move
from touchline.store.tables import sessions, turns


def stop_session(engine: Engine, database: Database, id: str, *, by: str = "person") -> str:
    """Ask a session to stop, and return the status it is in then.

    A running turn is ended by its own interrupt and the kill ladder, within seconds; who must know waits for the status
    `stopped`. Nothing is lost: `resume_session` goes on. One that has ended stays as it is.
    """
    with database.writing() as connection:
        record = session_record(connection, id)
        if record.ended:
            return record.status
        if record.stop_asked_at is None:
            _update(connection, record.id, stop_asked_at=now(), stop_by=by)
            append(connection, [about(record.id, "session.stop_asked", task_id=record.asked.task_id, by=by)])
        if record.status == "running":
            return record.status
        stopped(connection, record, by=by)
        if record.question_id:
            withdraw(connection, record.question_id)
    engine.cancel(parked_job(record.question_id) if record.question_id else record.job)
    return "stopped"


def resume_session(engine: Engine, database: Database, id: str, message: str = "", *, by: str = "person") -> str:
    """Go on with a session and return its id.

    One that waits takes the message as the answer to its question. One that was stopped, failed or was delivered goes
    on in the agent's own session with the message, or with a plain request to go on. SessionError while it runs, or
    when a waiting one is given no answer.
    """
    message = storable(message)
    with database.writing() as connection:
        record = session_record(connection, id)
        if record.status == "waiting":
            question: QuestionRecord | None = _answered(connection, record, message, by)
            run = 0
        elif record.status in ("stopped", "failed", "delivered"):
            question, run = None, _going_on(connection, record, message, by)
        else:
            raise SessionError(f"The session {record.id} is {record.status}.", hint="Stop it first, or wait for it.")
    if question is not None:
        wake(engine, question)
    else:
        engine.start(WORKFLOW, [record.id], id=job_id(record.id, run))
    return record.id


def stopped(connection: sa.Connection, record: SessionRecord, *, by: str) -> None:
    """Write down that it has stopped, in the caller's transaction."""
    move(
        connection,
        "sessions",
        record.id,
        "stopped",
        reason="stopped",
        detail=f"Stopped by {by}.",
        question_id=None,
        ended_at=now(),
    )
    append(connection, [about(record.id, "session.stopped", by=by, task_id=record.asked.task_id)])


def parked_job(question: str) -> str:
    """The engine's job that waits for the answer to a question."""
    from touchline.engine.dbos_engine import parked_id

    return parked_id(question)


def _answered(connection: sa.Connection, record: SessionRecord, message: str, by: str) -> QuestionRecord:
    question = record.question_id
    if question is None:
        raise SessionError(f"The session {record.id} waits, but its question is lost.", hint="Stop it, then resume it.")
    if not message.strip():
        raise SessionError(f"The session {record.id} waits for an answer.", hint="Give the answer as the message.")
    record_answer(connection, question, message, person=by)
    return question_record(connection, question)


def _going_on(connection: sa.Connection, record: SessionRecord, message: str, by: str) -> int:
    """A new run whose first turn is the next one; the counters of the stop before are over."""
    done = turns_of_session(connection, record.id)
    torn = [each for each in done if each.ended is None]
    for each in torn:
        connection.execute(turns.update().where(turns.c.id == each.id).values(ended="interrupted", ended_at=now()))
    order = Order(number=len(done) + 1, kind="resume", message=message or text("go_on"))
    ordered = record.state.order
    if ordered is not None and ordered.number == order.number and record.status == "stopped":
        order = replace(ordered, message=_both(ordered.message, message))  # stopped before this turn began
    elif record.cli_session_id is None:
        order = replace(order, kind="first", fresh=True, message=_both(record.asked.task, message))
    elif torn:
        order = replace(order, message=_both(text("interrupted"), message))
    base = sum(each.kind != "nudge" for each in done)
    state = replace(
        record.state,
        order=order,
        work={},
        thrash=None,
        reminded=None,
        nudged=False,
        failures=0,
        turns_base=base,
        answering=None,
    )
    run = bump(connection, "sessions", record.id, "runs")
    clear = {"delivery": None, "detail": "", "ended_at": None, "stop_asked_at": None, "stop_by": None}
    move(connection, "sessions", record.id, "running", reason="resumed", state=state.to_json(), **clear)
    told = {"by": by, "message": message, "run": run}
    append(connection, [about(record.id, "session.resumed", task_id=record.asked.task_id, **told)])
    return run


def _both(first: str, second: str) -> str:
    return "\n\n".join(filter(None, (first, second)))


def _update(connection: sa.Connection, id: str, **values: object) -> None:
    connection.execute(sessions.update().where(sessions.c.id == id).values(**values, updated_at=now()))
