"""What is written when a decision is acted on? Decision, counters and the next turn's order, in one transaction.

Whoever dies before it is committed decides again; whoever dies after it goes on with what was decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from touchline.agents.prompts import new_marker
from touchline.questions.asking import ask_person
from touchline.questions.question import NewQuestion
from touchline.sessions.delivering import deliver
from touchline.sessions.events import about
from touchline.sessions.records import SessionRecord, session_record, turn_of_session, turns_of_session
from touchline.sessions.reviewing import write_review
from touchline.sessions.state import Order, State, TurnKind
from touchline.sessions.stopping import stopped
from touchline.sessions.texts import text
from touchline.store.append import append
from touchline.store.columns import new_id, now
from touchline.store.events import NewEvent
from touchline.store.fault_points import fault_point
from touchline.store.statements import inserting, updating
from touchline.store.statuses import move
from touchline.store.tables import coaching, decisions, sessions, tasks, turns
from touchline.supervision.facts import Ended
from touchline.supervision.situation import Action, Reason

_QUOTED = 1_000


def question_key(session: str, number: int) -> str:
    """The id of the question that a stop raises, and the key under which the rest of the work is parked."""
    return f"{session}-question-{number}"


def open_run(connection: sa.Connection, id: str) -> int | None:
    """The number of the turn that a run begins with; None when it was stopped before it began."""
    record = session_record(connection, id)
    if record.status not in ("starting", "running"):
        return None
    if record.stop_asked_at is not None:
        stopped(connection, record, by=record.stop_by or "person")
        return None
    order = record.state.order
    if order is None:
        order = Order(number=1, kind="first", message=record.asked.task, fresh=True)
        _save(connection, id, replace(record.state, order=order))
    if record.status == "starting":
        move(connection, "sessions", id, "running", reason="started")
    return order.number


def stop_here(connection: sa.Connection, id: str, commit: str | None) -> str:
    """A person wanted it to stop, its turn has ended, and this is the work so far."""
    record = session_record(connection, id)
    if record.status == "running":
        if commit is not None:
            connection.execute(updating(sessions, "id"), {"at_id": id, "head_commit": commit})
        stopped(connection, record, by=record.stop_by or "person")
    return "stopped"


def go_on(connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any]) -> int:
    """Write the decision and order the next turn; its number."""
    record = session_record(connection, id)
    order, state, more = _next(record, number, judged)
    _save(
        connection,
        id,
        replace(state, order=order, work=judged["work"], calls=judged["calls"], advised=0),
        failures=judged["failures"],
        nudged=state.nudged,
        continuations=int(judged["work"].get("continuations", 0)),
        # A new conversation gets a marker of its own: the old one may stand in files that the last attempt left.
        marker=new_marker() if order.fresh and record.marker else record.marker,
    )
    _decided(connection, record, number, judged, more)
    fault_point("session.acting")
    return order.number


def ask(connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any]) -> str:
    """Write the decision and show the question. What goes on with its answer was parked before.

    Empty when a person wanted the session to stop meanwhile: then it stops, and asks nothing.
    """
    record = session_record(connection, id)
    if record.stop_asked_at is not None:
        stopped(connection, record, by=record.stop_by or "person")
        return ""
    key = question_key(id, number)
    words = judged["message"]
    if judged["reason"] == Reason.UNSURE:
        words = text("unsure", words=str(judged.get("final_text", ""))[:_QUOTED])
    ask_person(
        connection,
        NewQuestion(
            id=key,
            agent=id,
            trigger="stop",
            subject=str(number),
            title=record.asked.task,
            text=words,
            kind=judged["reason"],
            context=_both(judged.get("advice", ""), str(judged.get("final_text", ""))),
            session_id=id,
            task_id=record.asked.task_id,
            build_id=_build_of(connection, record.asked.task_id),
        ),
    )
    state = replace(record.state, work=judged["work"], calls=judged["calls"], failures=judged["failures"])
    move(
        connection,
        "sessions",
        id,
        "waiting",
        reason=judged["reason"],
        detail=words,
        question_id=key,
        state=state.to_json(),
    )
    waiting = about(id, "session.waiting", task_id=record.asked.task_id, question=key, number=number)
    _decided(connection, record, number, judged, [waiting])
    fault_point("session.acting")
    return key


def take_answer(connection: sa.Connection, id: str, question: str, answer: Any) -> int | None:
    """Order the turn that tells the agent the answer; None when the session no longer waits for it."""
    record = session_record(connection, id)
    if record.status != "waiting" or record.question_id != question or answer is None:
        return None
    last = connection.execute(sa.select(sa.func.max(turns.c.number)).where(turns.c.session_id == id)).scalar() or 0
    order = Order(number=last + 1, kind="answer", message=text("answer", answer=str(answer)))
    # A person has spoken: what was counted towards asking him is over. Of work that is not proved only who was asked
    # about that very thing has decided.
    decided = record.reason == Reason.REJECTED_AGAIN
    state = replace(
        record.state,
        order=order,
        work={},
        thrash=None,
        reminded=None,
        answering=question,
        advised=0,
        settled=record.state.calls if decided else record.state.settled,
    )
    move(connection, "sessions", id, "running", reason="answered", detail="", question_id=None, state=state.to_json())
    return order.number


def review_decided(
    connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any], ruling: Mapping[str, Any]
) -> int:
    """Write the review and order the turn that brings its words to the agent, whatever the verdict."""
    record = session_record(connection, id)
    write_review(connection, record, ruling, judged["message"])
    worked = sum(turn.kind != "nudge" for turn in turns_of_session(connection, id))
    base = worked if ruling["resets"] else record.state.turns_base
    words = text("reviewed", verdict=ruling["verdict"], guidance=ruling["guidance"] or text("go_on"))
    state = replace(
        record.state,
        order=Order(number=number + 1, kind="review", message=words),
        work=judged["work"],
        calls=judged["calls"],
        streak=ruling["streak"],
        turns_base=base,
    )
    _save(connection, id, state)
    _decided(connection, record, number, judged, [])
    fault_point("session.acting")
    return number + 1


def advised(
    connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any], advice: Mapping[str, Any]
) -> int:
    """Write that the reviewer answered the agent's question, and order the turn that brings the answer to it."""
    record = session_record(connection, id)
    words = text("advised", answer=advice["text"])
    state = replace(
        record.state,
        order=Order(number=number + 1, kind="answer", message=words),
        work=judged["work"],
        calls=judged["calls"],
        failures=judged["failures"],
        advised=record.state.advised + 1,
    )
    _save(connection, id, state)
    told = {"question": judged["message"] or judged.get("final_text", ""), "answer": advice["text"], "by": advice["by"]}
    _decided(connection, record, number, judged, [about(id, "question.advised", task_id=record.asked.task_id, **told)])
    fault_point("session.acting")
    return number + 1


def end(connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """Write the decision, the end and the delivery, and the review that led to it where one did."""
    record = session_record(connection, id)
    if "verdict" in judged.get("ruling", {}):
        write_review(connection, record, judged["ruling"], judged["message"])
    # A turn that could not be run to its end is not left open.
    unfinished = turns.update().where(turns.c.session_id == id, turns.c.ended.is_(None))
    connection.execute(unfinished.values(ended=str(Ended.UNKNOWN), end_detail=judged["message"], ended_at=now()))
    calls = judged.get("calls", 0)
    settled = calls if judged["delivery"] == "accepted" else record.state.settled
    _save(connection, id, replace(record.state, work={}, calls=calls, settled=settled, nudged=False, failures=0))
    _decided(connection, record, number, judged, [])
    return deliver(connection, id, number, judged, changes)


def _next(record: SessionRecord, number: int, judged: Mapping[str, Any]) -> tuple[Order, State, list[NewEvent]]:
    """The order that carries a decision out, the state it leaves, and what is told beside it."""
    state, task, id = record.state, record.asked.task_id, record.id
    message, missing = judged["message"], ", ".join(judged["missing"])
    kind: TurnKind
    match Action(judged["action"]):
        case Action.CONTINUE:
            told = [about(id, "coaching.sent", task_id=task, tier=judged["tier"] or "plain", text=message)]
            order = Order(number=number + 1, kind="continue", message=message)
        case Action.STEER:
            told = [about(id, "coaching.sent", task_id=task, tier="steer", text=message, rule=judged.get("rule"))]
            order = Order(number=number + 1, kind="steer", message=message)
        case Action.NUDGE:
            told = [about(id, "nudge.sent", task_id=task, text=message, number=number + 1)]
            order = Order(number=number + 1, kind="nudge", message=message, seconds=judged["seconds_allowed"])
            return order, replace(state, nudged=True), told
        case Action.RETRY:
            kind, told = "retry", []
            if judged["reason"] == "provider_fault":
                order = _after_fault(record, number)
            elif judged["fresh"]:
                words = text("begun_anew", task=record.asked.task, missing=missing)
                order = Order(number=number + 1, kind=kind, message=words, fresh=True)
            else:
                order = Order(number=number + 1, kind=kind, message=text("contract_again", missing=missing))
            attempt = state.attempt + int(judged["reason"] != "provider_fault")
            state = replace(state, nudged=False, failures=judged["failures"], attempt=attempt)
        case other:  # pragma: no cover
            raise AssertionError(f"{other} does not go on")
    return order, state, told


def _after_fault(record: SessionRecord, number: int) -> Order:
    """A session that the fault let begin goes on; one that never began is told the same again."""
    before = record.state.order
    if record.cli_session_id is not None or before is None:
        return Order(number=number + 1, kind="retry", message=text("provider_fault"))
    return Order(number=number + 1, kind="retry", message=before.message, fresh=before.fresh)


def _build_of(connection: sa.Connection, task: str | None) -> str | None:
    """The build whose task the session works on: whoever answers is told what goes on with it."""
    return connection.execute(sa.select(tasks.c.build_id).where(tasks.c.id == task)).scalar() if task else None


def _both(first: str, second: str) -> str:
    return "\n\n".join(filter(None, (first.strip(), second.strip())))


def _decided(
    connection: sa.Connection, record: SessionRecord, number: int, judged: Mapping[str, Any], more: list[NewEvent]
) -> None:
    turn = turn_of_session(connection, record.id, number)
    row = new_id("decision")
    connection.execute(
        inserting(decisions),
        {
            "id": row,
            "session_id": record.id,
            "turn_id": None if turn is None else turn.id,
            "action": judged["action"],
            "reason": judged["reason"],
            "message": judged["message"],
            "evidence": judged.get("evidence", {}),
            "at": now(),
        },
    )
    tier = judged.get("tier") or ("steer" if judged["action"] == "steer" else None)
    if tier is not None:
        connection.execute(
            coaching.insert().values(
                id=new_id("coaching"),
                session_id=record.id,
                decision_id=row,
                tier=tier,
                text=judged["message"],
                at=now(),
            )
        )
    if turn is not None and judged.get("stop_kind"):
        connection.execute(updating(turns, "id"), {"at_id": turn.id, "stop_kind": judged["stop_kind"]})
    made = about(
        record.id,
        "decision.made",
        task_id=record.asked.task_id,
        action=judged["action"],
        reason=judged["reason"],
        message=judged["message"],
        evidence=judged.get("evidence", {}),
    )
    append(connection, [made, *more])


def _save(connection: sa.Connection, id: str, state: State, **also: Any) -> None:
    connection.execute(updating(sessions, "id"), {"at_id": id, "state": state.to_json(), "updated_at": now(), **also})
