"""Who answers an agent's question first? An adviser that another room registered; a person only when he passes it on.

Without an adviser every question goes to a person. So does one that the adviser cannot take, and every further one
after he has answered a few in a row: an agent that only asks is not helped by more answers of the same kind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from touchline.errors import ModelError, TouchlineError
from touchline.models.booking import book
from touchline.sessions.plans import plan_text
from touchline.sessions.records import SessionRecord, session_record
from touchline.sessions.room import Room
from touchline.supervision.situation import Reason

if TYPE_CHECKING:
    from touchline.models.asking import Answer

MOST_IN_A_ROW = 3
"""Questions that an adviser answers before a person must see one."""
_ADVISABLE = frozenset({Reason.QUESTION, Reason.BLOCKER})
_CONVENTIONS = ("AGENTS.md", "CLAUDE.md")
_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What an adviser is given."""

    question: str
    """The agent's closing words."""
    plan: str
    conventions: str
    session: SessionRecord
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What an adviser says."""

    decision: Literal["answer", "pass_on", "abandon"]
    text: str
    by: str = ""
    answers: tuple[tuple[str, Answer[Any]], ...] = ()
    """What a model was asked for it, for the books."""


Adviser = Callable[[Inquiry], Advice]
"""Like a reviewer: slow, may raise, perhaps asked twice."""

ADVISERS: dict[str, Adviser] = {}
"""The hook point: by the name that the session has as its reviewer."""


def consult(room: Room, id: str, judged: Mapping[str, Any]) -> dict[str, Any]:
    """What becomes of a question: `decision`, `text`, `by`. What goes wrong here sends it to a person, with why."""
    with room.database.reading() as connection:
        session = session_record(connection, id)
    adviser = ADVISERS.get(session.asked.reviewer or "")
    if adviser is None or judged["reason"] not in _ADVISABLE:
        return _passed("")
    if session.state.advised >= MOST_IN_A_ROW:
        return _passed(f"The architect has answered {session.state.advised} questions in a row; this one is for you.")
    try:
        advice = adviser(
            Inquiry(
                question=str(judged.get("final_text") or judged["message"]),
                plan=plan_text(session),
                conventions=_conventions(session),
                session=session,
                env=room.env,
            )
        )
    except TouchlineError as error:
        _paid(room, id, error.answers if isinstance(error, ModelError) else ())
        return _passed(f"The architect could not be asked: {error}")
    except Exception as error:
        logging.getLogger("touchline.sessions").exception("the adviser of session %s", id)
        return _passed(f"The architect could not be asked: {type(error).__name__}: {error}")
    _paid(room, id, advice.answers)
    return {"decision": advice.decision, "text": advice.text, "by": advice.by}


def _paid(room: Room, id: str, answers: tuple[tuple[str, Answer[Any]], ...]) -> None:
    if answers:
        with room.database.writing() as connection:
            book(connection, answers, session_id=id)


def _passed(why: str) -> dict[str, Any]:
    return {"decision": "pass_on", "text": why, "by": ""}


def _conventions(session: SessionRecord) -> str:
    """The repository's rules for agents, from the person's own checkout: the agent's clone may say anything."""
    parts: list[str] = []
    for name in _CONVENTIONS:
        try:
            with (Path(session.repository) / name).open(encoding="utf-8", errors="replace") as file:
                parts.append(f"From {name}:\n{file.read(_CHARACTERS).strip()}")
        except OSError:
            continue
    return "\n\n".join(parts)
