"""How does a question reach people? Its row and its event, in the transaction of whoever asks.

What goes on with the answer is parked in the engine before (`Engine.park(key)`), so that no answer can come too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from touchline.errors import QuestionError
from touchline.questions.question import NewQuestion, Option, QuestionRecord
from touchline.store.append import append
from touchline.store.events import Ids, NewEvent
from touchline.store.statuses import create_once, move, status_of
from touchline.store.tables import answers, questions

SOURCE = "questions"
_SUBJECT = 200
_CONTEXT = 20_000


def ask_person(connection: sa.Connection, new: NewQuestion) -> str:
    """Ask, and return the question's id. Asked again it is the same question, answered or not; nothing is written then.

    QuestionError for one that nobody could answer: without words, or with neither options nor free text.
    """
    if not new.text.strip():
        raise QuestionError(
            f"The question of {new.agent} about {new.subject!r} has no words.", hint="Say what is asked."
        )
    if not new.options and not new.free_text:
        raise QuestionError(f"{new.text[:80]!r} cannot be answered.", hint="Give options, or allow free text.")
    if new.default is not None and new.irreversible:
        raise QuestionError(f"{new.text[:80]!r} cannot be undone.", hint="It must not have a default answer.")
    made = create_once(
        connection,
        "questions",
        unique="id",
        id=new.key,
        type=new.kind,
        role=new.role,
        agent=new.agent[:_SUBJECT],
        trigger=new.trigger,
        subject=(new.title or new.subject)[:_SUBJECT],
        text=new.text,
        context=new.context[:_CONTEXT],
        options=[option.to_json() for option in new.options],
        default_answer=new.default,
        no_free_text=not new.free_text,
        blocking=new.blocking,
        irreversible=new.irreversible,
        phase=new.phase,
        tags=list(new.tags),
        session_id=new.session_id,
        task_id=new.task_id,
        build_id=new.build_id,
    )
    if made is not None:
        told = {"question": new.key, "kind": new.kind, "text": new.text, "blocking": new.blocking}
        append(connection, [event("question.asked", new.session_id, new.task_id, new.build_id, told)])
    return new.key


def withdraw(connection: sa.Connection, id: str) -> bool:
    """Take a question back that nobody needs answered any more; False when it is not open."""
    if status_of(connection, "questions", id) != "open":
        return False
    move(connection, "questions", id, "withdrawn", expect="open")
    return True


def question_record(connection: sa.Connection, id: str) -> QuestionRecord:
    """The question; the beginning of an id is enough where only one fits. QuestionError when there is none."""
    found = _records(connection, questions.c.id == id) or _records(
        connection, questions.c.id.startswith(id, autoescape=True)
    )
    if not id or not found:
        raise QuestionError(f"There is no question {id!r}.", hint="See:", then="inbox list")
    if len(found) > 1:
        raise QuestionError(f"More than one question begins with {id!r}.", hint="Give more of its id.")
    return found[0]


def open_questions(connection: sa.Connection, *, statuses: Sequence[str] = ("open",)) -> tuple[QuestionRecord, ...]:
    """Questions in these statuses: blocking ones first, then the oldest."""
    found = _records(connection, questions.c.status.in_(list(statuses)))
    return tuple(sorted(found, key=lambda each: (not each.blocking, each.created_at, each.id)))


def event(type: str, session: str | None, task: str | None, build: str | None, payload: dict[str, Any]) -> NewEvent:
    """An event about a question, with the ids of what it is about."""
    return NewEvent(type=type, payload=payload, source=SOURCE, ids=Ids(session=session, task=task, build=build))


def _records(connection: sa.Connection, where: sa.ColumnElement[bool]) -> list[QuestionRecord]:
    given = [answers.c.text.label("answer"), answers.c.source, answers.c.person, answers.c.at.label("answered_at")]
    query = sa.select(questions, *given).outerjoin(answers, answers.c.question_id == questions.c.id).where(where)
    return [_record(row) for row in connection.execute(query).mappings()]


def _record(row: sa.RowMapping) -> QuestionRecord:
    return QuestionRecord(
        id=row["id"],
        kind=row["type"],
        role=row["role"],
        agent=row["agent"] or "",
        trigger=row["trigger"] or "",
        subject=row["subject"],
        text=row["text"],
        context=row["context"],
        options=tuple(Option.from_json(each) for each in row["options"]),
        default=row["default_answer"],
        free_text=not row["no_free_text"],
        blocking=row["blocking"],
        irreversible=row["irreversible"],
        status=row["status"],
        phase=row["phase"],
        tags=tuple(row["tags"]),
        session_id=row["session_id"],
        task_id=row["task_id"],
        build_id=row["build_id"],
        created_at=row["created_at"],
        answer=row["answer"],
        answer_source=row["source"],
        answered_by=row["person"],
        answered_at=row["answered_at"],
    )
