"""The life of a session: prepare, then turn, judge, act, until it waits, is stopped, or its result is delivered.

Two workflows share one loop. Between two steps they do nothing but look at what the last step returned, so that after
a crash they come to the same place again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

from touchline.engine.port import Flow
from touchline.engine.workbook import BOOK
from touchline.errors import TouchlineError
from touchline.sessions import acting, consulting, delivering, judging, preparing, reviewing, turn_step
from touchline.sessions.room import Room, current_room
from touchline.sessions.starting import WORKFLOW
from touchline.sessions.stopping import parked_job
from touchline.sessions.texts import storable_value
from touchline.sessions.wanted import stop_asked
from touchline.store.fault_points import fault_point
from touchline.store.outages import patiently
from touchline.supervision.situation import Action, Reason

QUEUE = "sessions"
ANSWERED = "session.answered"
NAP_SECONDS = 5.0
"""The longest that a back-off sleeps without asking whether the session is still wanted."""
BOOK.queue(QUEUE)


@BOOK.workflow(WORKFLOW, queue=QUEUE)
def run(flow: Flow, id: str) -> str:
    """A session from its beginning, or from where a person let it go on."""
    room = current_room()
    prepared = flow.step("prepare", _guarded, preparing.prepare, room, id)
    number = flow.transaction("open", acting.open_run, id)
    if number is None:
        return "stopped"
    if "failed" in prepared:
        return _end(flow, room, id, number, prepared["failed"])
    return _work(flow, room, id, number)


@BOOK.workflow(ANSWERED, queue=QUEUE)
def answered(flow: Flow, id: str, question: str) -> str:
    """The rest of a session that waited for a person."""
    number = flow.transaction("take the answer", acting.take_answer, id, question, flow.answer())
    return "dropped" if number is None else _work(flow, current_room(), id, number)


def _work(flow: Flow, room: Room, id: str, number: int) -> str:
    """Turn after turn, from `number` on. Returns the word for how it ended."""
    while True:
        ran = flow.step(f"turn {number}", _guarded, turn_step.run_one_turn, room, id, number, flow.must_stop)
        if ran.get("end") == "stopped":
            return _stop(flow, room, id)
        if ran.get("end") == "guarded":
            return _end(flow, room, id, number, _kept_dying(ran["beginnings"]))
        if ran.get("end") == "spending":
            return _end(flow, room, id, number, _over_limit(ran["words"]))
        if "failed" in ran:
            return _end(flow, room, id, number, ran["failed"])
        found = flow.step(f"judge {number}", _guarded, judging.judge, room, id, number, flow.must_stop)
        if found.get("end") == "stopped":
            return _stop(flow, room, id)
        judged = found.get("failed", found)
        fault_point("session.judged")
        match Action(judged["action"]):
            case Action.CONTINUE | Action.STEER | Action.NUDGE | Action.RETRY:
                if not _waited(flow, room, id, judged["delay_seconds"]):
                    return _stop(flow, room, id)
                number = flow.transaction(f"go on after {number}", acting.go_on, id, number, judged)
            case Action.REVIEW:
                ruled = flow.step(f"review {number}", _guarded, reviewing.review, room, id, judged)
                if not ruled.get("goes_on"):
                    return _end(flow, room, id, number, {**_unresolved(judged, ruled), "ruling": ruled})
                number = flow.transaction(f"reviewed {number}", acting.review_decided, id, number, judged, ruled)
            case Action.ASK:
                advice = flow.step(f"consult {number}", patiently, consulting.consult, room, id, judged)
                judged = {**judged, "advice": advice["text"]}
                if advice["decision"] == "answer":
                    number = flow.transaction(f"advised {number}", acting.advised, id, number, judged, advice)
                    continue
                if advice["decision"] == "abandon":
                    return _end(flow, room, id, number, _unresolved(judged, {"guidance": advice["text"]}))
                # Parked first: no answer can come before there is something that it wakes.
                key = acting.question_key(id, number)
                flow.engine.park(key, then=ANSWERED, args=[id, key], deadline=None)
                if flow.transaction(f"ask {number}", acting.ask, id, number, judged):
                    return "waiting"
                flow.engine.cancel(parked_job(key))
                return "stopped"
            case Action.DELIVER:
                return _end(flow, room, id, number, judged)
            case Action.DROP:
                return "dropped"


def _end(flow: Flow, room: Room, id: str, number: int, judged: dict[str, Any]) -> str:
    """Bring the work home, write the end with its delivery, and send it."""
    # Where a check ran, what was taken before it is what it was run on.
    changes = judged.get("changes") or {}
    if "commit" not in changes:
        changes = flow.step(f"collect {number}", _guarded, delivering.collect_work, room, id)
    if "failed" in changes:
        changes = {"error": changes["failed"]["message"]}
    key = flow.transaction(f"deliver {number}", acting.end, id, number, judged, changes)
    flow.step(f"send {number}", patiently, delivering.send_now, room.database, key)
    return "failed" if judged["delivery"] == "error" else "delivered"


def _stop(flow: Flow, room: Room, id: str) -> str:
    """A person wanted it to stop: what is there so far is brought home, too."""
    changes = flow.step("collect", _guarded, delivering.collect_work, room, id)
    return flow.transaction("stop", acting.stop_here, id, changes.get("commit"))


def _waited(flow: Flow, room: Room, id: str, seconds: float) -> bool:
    """Sleep before a retry; False when a person wanted the session to stop meanwhile."""
    while seconds > 0:
        flow.sleep(min(seconds, NAP_SECONDS))
        seconds -= NAP_SECONDS
        if flow.step("still wanted", patiently, stop_asked, room, id):
            return False
    return True


def _guarded(work: Callable[..., dict[str, Any]], room: Room, id: str, *args: Any) -> dict[str, Any]:
    """What a step raises becomes the session's end, with its reason: no session hangs on an exception."""
    try:
        done = patiently(work, room, id, *args)
    except TouchlineError as error:
        done = {"failed": _error(_word_of(error), str(error))}
    except Exception as error:
        logging.getLogger("touchline.sessions").exception("session %s", id)
        done = {"failed": _error("internal_error", f"{type(error).__name__}: {error}")}
    # What a step returns is written down: words that cannot be would end the workflow, and the session never.
    return cast(dict[str, Any], storable_value(done))


def _word_of(error: TouchlineError) -> str:
    """`AgentError` is `agent_error`."""
    name = type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _kept_dying(beginnings: int) -> dict[str, Any]:
    words = f"Touchline died {beginnings} times in the middle of this turn, so the turn was not begun again."
    return _error("crash_guard", words)


def _over_limit(words: str) -> dict[str, Any]:
    """No turn was begun, or one was ended, because no more may be spent; the work so far is brought home."""
    reason = str(Reason.SPENDING_LIMIT)
    return judging.Judged(action="deliver", reason=reason, message=words, delivery="unresolved").to_json()


def _unresolved(judged: dict[str, Any], ruled: dict[str, Any]) -> dict[str, Any]:
    words = ruled["guidance"] if "guidance" in ruled else ruled["failed"]["message"]
    return {**judged, "action": "deliver", "delivery": "unresolved", "message": f"{judged['message']} {words}".strip()}


def _error(reason: str, message: str) -> dict[str, Any]:
    """An end that no turn came to."""
    return {**judging.Judged(action="deliver", reason=reason, message=message, delivery="error").to_json()}
