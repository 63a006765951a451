"""How does a task wait for its agent? Until the session has ended; a question to a person may take days."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from touchline.engine.port import Engine
from touchline.roles.build.changes import enter, leave
from touchline.roles.build.rows import TaskRow, task_row
from touchline.roles.build.states import State
from touchline.sessions.records import SessionRecord, TurnRecord, session_record, turns_of_session
from touchline.sessions.stopping import stop_session
from touchline.store.database import Database
from touchline.store.outages import patiently
from touchline.supervision.review import Verdict
from touchline.supervision.situation import Reason

POLL_SECONDS = 0.2
SLOW_SECONDS = 2.0
"""How often a session that waits for a person is looked at."""
TRANSIENT = frozenset({"provider_fault", "crashed", "end_unknown", "killed"})
"""Ends that say nothing about the work: they are no attempts."""


def await_session(
    engine: Engine, database: Database, id: str, task: str, must_stop: Callable[[], bool]
) -> dict[str, Any]:
    """What came of a session, as plain values. The task shows the question while the session waits for its answer.

    A session that would ask a person because its check fails again and again is ended: for that the build has rules.
    """
    refused = ""  # known here alone: a moment without the database must not make us begin again
    while True:
        record, row = patiently(_looked_at, database, id, task)
        if record.ended:
            patiently(_show, database, task, False)
            found = ended(record, patiently(_turns, database, id))
            return {**found, "how": "unresolved", "reason": "rejected_again", "detail": refused} if refused else found
        if patiently(must_stop):
            return _stopped()
        if record.status == "waiting" and record.reason == Reason.REJECTED_AGAIN:
            refused = record.detail
            patiently(lambda: stop_session(engine, database, id, by="build"))
            continue
        waits = record.status == "waiting"
        if waits != (row.state is State.QUESTION):
            patiently(_show, database, task, waits)
        time.sleep(SLOW_SECONDS if waits else POLL_SECONDS)


def ended(record: SessionRecord, turns: Sequence[TurnRecord] = ()) -> dict[str, Any]:
    """A session's end: `accepted`, `unresolved`, `stopped`, `transient` or `failed`."""
    result = record.result
    missing = "; ".join(result.get("missing", ()))
    detail = record.detail or str(result.get("message", ""))
    how, reason = "failed", record.reason or ""
    if record.status == "stopped":
        how = "stopped"
    elif record.delivery in ("accepted", "unresolved"):
        how = record.delivery
    elif reason in TRANSIENT:
        how = "transient"
    lesson = _lesson(record) if how == "unresolved" else ""
    return {
        "how": how,
        "reason": "abandoned" if lesson else "budget" if reason == Reason.SPENDING_LIMIT else reason,
        "detail": " ".join(filter(None, (detail, f"Missing: {missing}." if missing and missing not in detail else ""))),
        "lesson": lesson,
        "text": str(result.get("text", "")),
        "check": next((str(turn.check_run["tail"]) for turn in reversed(turns) if turn.check_run.get("tail")), ""),
        "head": record.head_commit,
        "base": record.base_commit,
        "files": (result.get("changes") or {}).get("files", 0),
        "changes_error": (result.get("changes") or {}).get("error", ""),
    }


def _lesson(record: SessionRecord) -> str:
    """What an attempt that the architect gave up has taught, in his words; empty when he did not give it up."""
    review: Mapping[str, Any] = record.result.get("review") or {}
    if review.get("verdict") == Verdict.ABANDON:
        return str(review.get("lesson") or review.get("guidance") or record.detail)
    if record.reason in (Reason.QUESTION, Reason.BLOCKER):
        return record.detail  # he was asked something, and answered that the task is not to be gone on with
    return ""


def _stopped() -> dict[str, Any]:
    words = "The build was stopped."
    blank = {"lesson": "", "text": "", "check": "", "head": None, "base": None, "files": 0, "changes_error": ""}
    return {"how": "stopped", "reason": "stopped", "detail": words, **blank}


def _looked_at(database: Database, id: str, task: str) -> tuple[SessionRecord, TaskRow]:
    with database.reading() as connection:
        return session_record(connection, id), task_row(connection, task)


def _turns(database: Database, id: str) -> tuple[TurnRecord, ...]:
    with database.reading() as connection:
        return turns_of_session(connection, id)


def _show(database: Database, task: str, waits: bool) -> None:
    with database.writing() as connection:
        row = task_row(connection, task, lock=True)
        if row.data.get("asked_of") == "architect":
            return  # he is being asked right now, and shows it himself
        if waits and row.state in (State.PLANNING, State.CODING):
            enter(connection, task, State.QUESTION)
        elif not waits:
            leave(connection, task, State.QUESTION)
