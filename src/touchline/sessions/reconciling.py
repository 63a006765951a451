"""What did a dead process leave half-way? Looked for at every start: each session goes on, or fails with a reason.

The engine goes on with its workflows by itself; this finds rows and workflows that do not fit together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from touchline.engine.port import Engine, State
from touchline.questions.answering import wake_answered
from touchline.sessions.delivering import deliver, send_results
from touchline.sessions.records import SessionRecord, list_sessions, session_record
from touchline.sessions.starting import WORKFLOW
from touchline.sessions.stopping import parked_job
from touchline.store.database import Database
from touchline.store.tables import answers

_MANY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What was found and done."""

    started: tuple[str, ...] = ()
    """Sessions whose workflow had never reached the engine."""
    failed: tuple[str, ...] = ()
    """Sessions whose workflow had ended without ending them."""
    answered: tuple[str, ...] = ()
    """Sessions whose answer had not reached the engine."""
    sent: int = 0
    """Results that had not been sent."""


def reconcile(engine: Engine, database: Database) -> Reconciled:
    """Put in order what is not; safe to be called by several processes, and again."""
    with database.reading() as connection:
        open_ones = list_sessions(connection, statuses=("starting", "running", "waiting"), limit=_MANY)
        given = _answers(connection, open_ones)
    started: list[str] = []
    failed: list[str] = []
    answered: list[str] = []
    for record in open_ones:
        question = record.question_id
        if record.status == "waiting":
            # Not answered yet: it waits on, for as long as it takes.
            if question is None or question not in given:
                continue
            job = engine.status(parked_job(question))
            if job is not None and job.state is State.WAITING:
                engine.answer(question, given[question])
                answered.append(record.id)
            elif (job is None or job.state.ended) and _fail(database, record, "what waited for its answer is gone"):
                failed.append(record.id)
            continue
        job_id = record.job if record.state.answering is None else parked_job(record.state.answering)
        job = engine.status(job_id)
        if job is None:
            engine.start(WORKFLOW, [record.id], id=record.job)
            started.append(record.id)
        elif job.state.ended and _fail(database, record, job.error or f"its workflow is {job.state}"):
            failed.append(record.id)
    wake_answered(engine, database)
    return Reconciled(
        started=tuple(started),
        failed=tuple(failed),
        answered=tuple(answered),
        sent=send_results(database).sent,
    )


def _answers(connection: sa.Connection, records: tuple[SessionRecord, ...]) -> Mapping[str, str]:
    ids = [record.question_id for record in records if record.question_id]
    query = sa.select(answers.c.question_id, answers.c.text).where(answers.c.question_id.in_(ids))
    return {row.question_id: row.text for row in connection.execute(query)}


def _fail(database: Database, record: SessionRecord, why: str) -> bool:
    """The row, not our look at it some time ago, says whether it is still open."""
    with database.writing() as connection:
        current = session_record(connection, record.id)
        if current.status != record.status or current.runs != record.runs:
            return False
        # Whoever waits for a result is told of this end, too.
        lost = {"reason": "lost", "message": f"It ended half-way: {why}", "delivery": "error"}
        deliver(connection, record.id, current.turns, lost, {})
    return True
