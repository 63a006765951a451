"""Who answered first? The question's row decides; the engine only wakes what waits for it.

The row is committed before the engine is told. A process that dies in between leaves an answer that wakes nobody:
`wake_answered`, called at every start, tells the engine again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from touchline.engine.port import Engine, State
from touchline.errors import QuestionError, StatusError
from touchline.questions.asking import event, question_record
from touchline.questions.question import QuestionRecord
from touchline.store.append import append
from touchline.store.columns import new_id, now
from touchline.store.database import Database
from touchline.store.fault_points import fault_point
from touchline.store.statuses import move
from touchline.store.tables import answers

_MANY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A question with its answer."""

    question: QuestionRecord
    first: bool
    """False when somebody else had answered before: then it is his answer that counts."""


def answer_question(
    engine: Engine, database: Database, id: str, text: str = "", *, person: str, option: int | None = None
) -> Answered:
    """Answer a question, in words or by the number of an option (from 1), and wake what waits for it.

    Safe to repeat. QuestionError when there is no such question, it is not open, or the answer does not fit.
    """
    with database.reading() as connection:
        question = question_record(connection, id)
    if question.status == "answered":
        first = False
    else:
        words = checked_answer(question, text, option)
        try:
            with database.writing() as connection:
                first = record_answer(connection, question.id, words, person=person)
        except StatusError:
            first = False  # somebody was faster by a moment: the row says who
    with database.reading() as connection:
        question = question_record(connection, question.id)
    fault_point("inbox.recorded")
    wake(engine, question)
    return Answered(question=question, first=first)


def record_answer(connection: sa.Connection, id: str, text: str, *, person: str | None, source: str = "user") -> bool:
    """Write the answer, in the caller's transaction; False when the question has one. The caller wakes with `wake`."""
    question = question_record(connection, id)
    if question.status == "answered":
        return False
    if question.status not in ("open", "expired"):
        raise QuestionError(f"The question {id} is {question.status}.", hint="See:", then="inbox list")
    move(connection, "questions", question.id, "answered", expect=question.status)
    row: dict[str, Any] = {"id": new_id("answer"), "question_id": question.id, "text": text, "source": source}
    connection.execute(answers.insert().values(**row, person=person, at=now()))
    told = {"question": question.id, "answer": text, "answer_source": source}
    append(connection, [event("question.answered", question.session_id, question.task_id, question.build_id, told)])
    return True


def checked_answer(question: QuestionRecord, text: str, option: int | None = None) -> str:
    """The words of an answer: an option's, or free text where that is allowed."""
    labels = [each.label for each in question.options]
    offered = "; ".join(f"{n}: {label}" for n, label in enumerate(labels, start=1)) or "none"
    if option is not None:
        if text.strip():
            raise QuestionError("Give either a text or the number of an option.", hint=f"Options: {offered}.")
        if not 1 <= option <= len(labels):
            raise QuestionError(f"There is no option {option}.", hint=f"Options: {offered}.")
        return labels[option - 1]
    words = text.strip()
    if not words:
        raise QuestionError("The answer is empty.", hint=f"Options: {offered}." if labels else "Say it in words.")
    if not question.free_text and words not in labels:
        raise QuestionError(f"{words!r} is none of the options.", hint=f"Options: {offered}.")
    return words


def wake(engine: Engine, question: QuestionRecord) -> bool:
    """Tell the engine the answer that counts; False when nothing waits for it any more."""
    return question.answer is not None and engine.answer(question.id, question.answer)


def wake_answered(engine: Engine, database: Database) -> tuple[str, ...]:
    """Wake what still waits although its question was answered; the ids of those questions."""
    from touchline.engine.dbos_engine import parked_id

    parked = parked_id("")
    keys = [job.id.removeprefix(parked) for job in engine.list(states=[State.WAITING], prefix=parked, limit=_MANY)]
    woken: list[str] = []
    for start in range(0, len(keys), 500):
        with database.reading() as connection:
            query = sa.select(answers.c.question_id, answers.c.text).where(
                answers.c.question_id.in_(keys[start : start + 500])
            )
            found = list(connection.execute(query))
        woken += [row.question_id for row in found if engine.answer(row.question_id, row.text)]
    return tuple(woken)
