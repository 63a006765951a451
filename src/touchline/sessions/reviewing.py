"""Who looks at a session that is out of turns or goes in circles? A reviewer that another room registered by name.

Without one the session is delivered unresolved: showing a person is always safer than going on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from touchline.errors import ModelError, ReviewError
from touchline.models.booking import book
from touchline.sessions.events import about
from touchline.sessions.records import SessionRecord, session_record
from touchline.sessions.review_request import request_for
from touchline.sessions.room import Room
from touchline.sessions.texts import text
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.statuses import create, move
from touchline.supervision.budgets import Budget, Spending, exhausted
from touchline.supervision.review import Ruling, Verdict, render, rule, streak_ruling

if TYPE_CHECKING:
    from touchline.models.asking import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a reviewer says."""

    verdict: str
    """approved, needs_changes or abandon."""
    guidance: str
    by: str = ""
    """Who says so, such as the model's name."""
    answers: tuple[tuple[str, Answer[Any]], ...] = ()
    """What a model was asked for it, for the books."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a reviewer is given."""

    request: str
    """All he must know, as text."""
    session: SessionRecord
    """Whose work it is: who wrote it must not judge it."""
    env: Mapping[str, str]
    again: str = ""
    """Why his last answer was not taken; empty the first time."""


Reviewer = Callable[[Case], Opinion]
"""It may take minutes and may raise; it is asked in a step, after a crash perhaps twice."""

REVIEWERS: dict[str, Reviewer] = {}
"""The hook point: rooms above put theirs in under a name, which a session then asks for."""


def may_review(name: str | None, budget: Budget, spending: Spending) -> bool:
    """Turns are a reviewer's to give. Money, tokens and time are the person's, so nobody else is asked about those."""
    beyond = [each for each in exhausted(budget, spending) if each.resource != "turns"]
    return name in REVIEWERS and not beyond


def review(room: Room, id: str, judged: Mapping[str, Any]) -> dict[str, Any]:
    """Ask the reviewer, once more when an approval says nothing to an alert; the ruling as plain values."""
    with room.database.reading() as connection:
        session = session_record(connection, id)
        request = request_for(room, connection, session, judged)
    origin = request.origin
    ruling = streak_ruling(session.state.streak, room.limits)
    by = ""
    if ruling is None:
        words = render(request, room.limits)
        (room.of(id) / f"review-{request.used}.md").write_text(words, encoding="utf-8")
        reviewer = REVIEWERS[session.asked.reviewer or ""]
        for again in (False, True):
            case = Case(request=words, session=session, env=room.env, again=text("unguided") if again else "")
            try:
                opinion = reviewer(case)
            except ModelError as error:
                _paid(room, id, error.answers)
                raise
            by = opinion.by
            _paid(room, id, opinion.answers)
            ruling = rule(
                opinion.verdict,
                opinion.guidance,
                origin=origin,
                analysis=request.analysis,
                streak=session.state.streak,
                asked_again=again,
            )
            if ruling is not None:
                break
    if ruling is None:
        raise ReviewError("The reviewer gave no ruling.", hint="The session is delivered as it stands.")
    return _plain(ruling, origin, by)


def _paid(room: Room, id: str, answers: tuple[tuple[str, Answer[Any]], ...]) -> None:
    if answers:
        with room.database.writing() as connection:
            book(connection, answers, session_id=id)


def write_review(connection: sa.Connection, session: SessionRecord, ruling: Mapping[str, Any], words: str) -> None:
    """The review's row and events, with the decision that follows from it."""
    row = create(
        connection,
        "reviews",
        session_id=session.id,
        task_id=session.asked.task_id,
        origin=ruling["origin"],
        request=words,
        guidance=ruling["guidance"],
        reviewer=ruling["by"] or session.asked.reviewer,
        streak=ruling["streak"],
        at=now(),
    )
    move(connection, "reviews", row, "complete", verdict=ruling["verdict"], answered_at=now())
    task = session.asked.task_id
    append(
        connection,
        [
            about(session.id, "review.requested", task_id=task, review=row, origin=ruling["origin"], text=words),
            about(
                session.id,
                "review.completed",
                task_id=task,
                review=row,
                verdict=ruling["verdict"],
                guidance=ruling["guidance"],
            ),
        ],
    )


def _plain(ruling: Ruling, origin: str, by: str) -> dict[str, Any]:
    return {
        "verdict": str(ruling.verdict),
        "guidance": ruling.guidance,
        "streak": ruling.streak,
        "lesson": ruling.lesson,
        "goes_on": ruling.verdict is not Verdict.ABANDON,
        "resets": ruling.resets_counter,
        "origin": origin,
        "by": by,
    }
