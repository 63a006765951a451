"""Where does a task stand while the architect thinks about it? The architect of a build is the ordinary one, and the
task shows that he is asked: `budget_review` for its turns, `question` for its agent's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from touchline.roles.build.changes import enter, leave
from touchline.roles.build.rows import task_row
from touchline.roles.build.states import State
from touchline.roles.review import architect
from touchline.sessions.consulting import ADVISERS, Advice, Inquiry
from touchline.sessions.reading import READERS
from touchline.sessions.records import SessionRecord
from touchline.sessions.reviewing import REVIEWERS, Case, Opinion
from touchline.sessions.room import current_room

NAME = "build_architect"


def review_budget(case: Case) -> Opinion:
    with _shown(case.session, State.BUDGET_REVIEW):
        return architect.review_budget(case)


def answer_question(inquiry: Inquiry) -> Advice:
    with _shown(inquiry.session, State.QUESTION):
        return architect.answer_question(inquiry)


@contextmanager
def _shown(session: SessionRecord, side: State) -> Iterator[None]:
    """Asked again after a crash it finds the state it left, and leaves it as it should."""
    database, task = current_room().database, session.asked.task_id
    assert task is not None
    with database.writing() as connection:
        if task_row(connection, task, lock=True).state in (State.PLANNING, State.CODING):
            enter(connection, task, side, asked_of="architect")
    try:
        yield
    finally:
        with database.writing() as connection:
            leave(connection, task, side, asked_of=None)


def register() -> None:
    """Make him known to sessions of this process; again changes nothing."""
    REVIEWERS[NAME] = review_budget
    ADVISERS[NAME] = answer_question
    READERS[NAME] = architect.read_stop


register()
