"""What is a reviewer shown of a session? Its task, its plan as it is now, and what it really called, newest last.

Calls come from the raw streams: a reviewer who sees only prompts and closing words cannot say why calls fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from touchline.agents.environment import secrets_in
from touchline.agents.redaction import Redactor
from touchline.sessions.plans import plan_text
from touchline.sessions.raw import heard
from touchline.sessions.records import SessionRecord, turns_of_session
from touchline.sessions.room import Room
from touchline.supervision.facts import Step, steps_of
from touchline.supervision.review import Message, Request
from touchline.supervision.sameness import shorten

_CALLS = 40
"""The newest calls that are shown; the request has a limit in tokens besides."""
_COMMAND = 300
_LINES = 6
_CHARACTERS = 700


def request_for(room: Room, connection: sa.Connection, session: SessionRecord, judged: Mapping[str, Any]) -> Request:
    """The request about a session whose last stop was judged so."""
    asked = session.asked
    turns = turns_of_session(connection, session.id)
    redact = Redactor(secrets_in(room.env)).text
    return Request(
        origin="planning" if asked.read_only else "coding",
        used=len(turns),
        limit=asked.turns or len(turns),
        task_id=asked.task_id or session.id,
        task_type=session.phase or "task",
        requirements=asked.task,
        plan=plan_text(session),
        analysis=_analysis(judged["analysis"], judged["message"]),
        context=[Message(role=m.role, text=redact(m.text)) for m in _context(room, session, turns)],
        streak=session.state.streak,
    )


def _analysis(analysis: str, why: str) -> str:
    """The loop that led to the review is in the analysis; a budget that is used up is not."""
    return analysis if why in analysis else f"{analysis}\n{why}"


def _context(room: Room, session: SessionRecord, turns: Any) -> Iterator[Message]:
    driver, folder = room.driver(session.agent), room.of(session.id)
    found: list[list[Step]] = []
    for turn in turns:
        parts = heard(driver, session, folder, turn).parts
        found.append(list(steps_of(list(parts))))
    left_out = max(0, sum(map(len, found)) - _CALLS)
    for turn, steps in zip(turns, found, strict=True):
        yield Message(role="user", text=turn.prompt)
        shown, left_out = steps[left_out:], max(0, left_out - len(steps))
        yield from (Message(role="call", text=call_words(step)) for step in shown)
        yield Message(role="agent", text=turn.final_text)


def call_words(step: Step) -> str:
    """A call with how it ended; of one that failed, what the error says first."""
    result = step.result
    if result is None:
        return f"{shorten(step.call, _COMMAND)} -> no result was heard"
    code = "" if result.exit_code is None else f" (exit code {result.exit_code})"
    if not step.failed:
        return f"{shorten(step.call, _COMMAND)} -> ok{code}"
    lines = [line for line in result.text.splitlines() if line.strip()][:_LINES]
    return f"{shorten(step.call, _COMMAND)} -> FAILED{code}\n" + "\n".join(lines)[:_CHARACTERS]
