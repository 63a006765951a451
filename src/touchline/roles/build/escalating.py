"""A task needs a person: who is asked what, and what follows from the answer? The other tasks go on meanwhile.

The rest of the work is parked in the engine before the question is shown, so the answer may come after days, from any
process, and goes on with the build even if that had ended for want of anything else to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from touchline.engine.port import Flow
from touchline.engine.workbook import BOOK
from touchline.questions.asking import ask_person, withdraw
from touchline.questions.question import NewQuestion, Option, question_id
from touchline.roles.build.accepting import ACCEPT, accept, acceptable, shown_where
from touchline.roles.build.accepting import OPTION as ACCEPTABLE
from touchline.roles.build.changes import begin_again, keep_data, run_again, tell
from touchline.roles.build.coder_ends import note_in_file
from touchline.roles.build.faults import guarded
from touchline.roles.build.rows import TaskRow, build_row, task_row, tasks_of
from touchline.roles.build.stopping import StopReason
from touchline.sessions.room import Room
from touchline.store.statuses import move
from touchline.store.tables import answers, questions

ANSWERED = "task.answered"
TRIGGER = "task_failed"
QUEUE = "builds"
BOOK.queue(QUEUE)
RETRY, SKIP, WAIT = "retry", "skip", "wait"
OPTIONS = (
    Option(label=RETRY, description="Try the task again, as often as a new one.", recommended=True),
    Option(label=SKIP, description="Leave it out, and with it what depends on it."),
    Option(label=WAIT, description="Leave it as it is; `touchline build resume` takes it up again."),
)
"""Anything else that is answered is advice: the task is tried again, and its agent reads it."""
_WORD = 80


def question_of(row: TaskRow) -> str:
    """One question per run of a task: asked again after a crash it is the same one."""
    return question_id(row.build_id, TRIGGER, f"{row.task.id}/{row.number}")


def escalate(flow: Flow, room: Room, task: str, why: str, number: int) -> None:
    """Block the task and ask. A part of the build's workflow."""
    key = flow.transaction(f"escalate {task} {number}", block, task, why)
    if key is not None:
        # Parked first: no answer can come before there is something that it wakes.
        flow.engine.park(key, then=ANSWERED, args=[task, key], deadline=None)
        flow.transaction(f"ask {task} {number}", ask, task, key, why)
    flow.step(f"note {task} {number}", guarded, note_in_file, room, task)


def block(connection: sa.Connection, id: str, why: str) -> str | None:
    """The task is blocked; the key of its question. None for one that stops the build: it stays failed."""
    row = task_row(connection, id, lock=True)
    keep_data(connection, id, ended={**row.ended, "decided": "escalate"})
    if row.task.stops_build:
        return None
    key = question_of(row)
    move(connection, "tasks", id, "blocked", reason=str(row.ended.get("reason", ""))[:_WORD])
    tell(connection, row.build_id, "task.blocked", task=id, reason=why, waits_for=key)
    return key


def ask(connection: sa.Connection, id: str, key: str, why: str) -> None:
    row = task_row(connection, id)
    may_accept = acceptable(row)
    choice = "Take it as it is, try it again" if may_accept else "Try it again"
    where = shown_where(row, build_row(connection, row.build_id)) if may_accept else ""
    ask_person(
        connection,
        NewQuestion(
            id=key,
            agent=row.build_id,
            trigger=TRIGGER,
            subject=row.task.id,
            title=f"{row.task.id}: {row.task.title or row.task.file}",
            text=f"{row.task.id} cannot go on by itself. {why}\n{choice}, leave it out, or wait?",
            kind="blocking",
            role="build",
            context="\n\n".join(filter(None, (str(row.ended.get("detail", "")), where))),
            options=(ACCEPTABLE, *OPTIONS) if may_accept else OPTIONS,
            task_id=id,
            build_id=row.build_id,
        ),
    )


@BOOK.workflow(ANSWERED, queue=QUEUE)
def answered(flow: Flow, task: str, key: str) -> str:
    """The rest of an escalation: carry the answer out, and go on with the build where it has ended meanwhile."""
    from touchline.roles.build.building import WORKFLOW

    done = flow.transaction("take the answer", take_answer, task, key, flow.answer())
    if done["run"]:
        flow.engine.start(WORKFLOW, [done["build"]], id=f"{done['build']}/run-{done['run']}", queue=QUEUE)
    return str(done["then"])


def take_answer(connection: sa.Connection, id: str, key: str, answer: Any) -> dict[str, Any]:
    """What the person wants is done to the task. An answer that was carried out before, or is to something that is
    over, changes nothing."""
    row = task_row(connection, id, lock=True)
    if row.task.status != "blocked" or question_of(row) != key or answer is None:
        return {"then": "over", "run": 0, "build": row.build_id}
    then = _carry_out(connection, row, str(answer))
    return {"then": then, "run": resumed(connection, row.build_id, [then]), "build": row.build_id}


def take_answers(connection: sa.Connection, build: str) -> dict[str, str]:
    """Do to a build's blocked tasks what people answered: whoever goes on with it need not wait for the engine, which
    does the same. What each answer came to, by task."""
    found: dict[str, str] = {}
    for each in tasks_of(connection, build):
        row = task_row(connection, each.id, lock=True)
        if (words := answer_to(connection, row)) is not None:
            found[row.id] = _carry_out(connection, row, words)
    return found


def answer_to(connection: sa.Connection, row: TaskRow) -> str | None:
    """What was answered to the question of a blocked task and is not carried out yet; None when there is nothing."""
    if row.task.status != "blocked":
        return None
    return connection.execute(sa.select(answers.c.text).where(answers.c.question_id == question_of(row))).scalar()


def option_of(answer: str) -> str:
    """Which option an answer comes to: advice is a reason to try it again."""
    word = answer.strip().lower()
    return word if word in (SKIP, WAIT, ACCEPT) else RETRY


def resumed(connection: sa.Connection, id: str, carried_out: Iterable[str]) -> int:
    """The number of the run that goes on with a build that stopped for these very answers; 0 when none is needed."""
    build = build_row(connection, id)
    if not build.ended or build.reason != StopReason.ESCALATED or all(then == WAIT for then in carried_out):
        return 0
    return run_again(connection, id, by="answer")


def _carry_out(connection: sa.Connection, row: TaskRow, answer: str) -> str:
    """Do what was answered; the option that it came to."""
    then = option_of(answer)
    if then == ACCEPT and not acceptable(row):
        then = answer = RETRY  # there is nothing that could be taken
    if then == SKIP:
        move(connection, "tasks", row.id, "skipped", reason="person")
        tell(connection, row.build_id, "task.skipped", task=row.id, reason="A person left it out.")
    elif then == RETRY:
        fresh_start(connection, row.id, advice="" if answer.strip().lower() == RETRY else answer.strip())
    elif then == ACCEPT:
        query = sa.select(answers.c.person).where(answers.c.question_id == question_of(row))
        by = connection.execute(query).scalar() or "person"
        fresh_start(connection, row.id, why="accepted")
        accept(connection, row, by=by)
    return then


def fresh_start(connection: sa.Connection, id: str, *, advice: str = "", why: str = "answered") -> None:
    """A task that failed, was blocked or left out is pending again, with all its attempts before it."""
    row = task_row(connection, id, lock=True)
    also = {"advice": advice, "heard": False} if advice else {}
    keep_data(connection, id, ended=None, attempts_before=row.attempts, runs_before=row.number, counts=True, **also)
    begin_again(connection, id)
    move(connection, "tasks", id, "pending", reason=why)
    withdraw_question(connection, row)


def withdraw_question(connection: sa.Connection, row: TaskRow) -> None:
    """Nobody needs its answer any more, if it is open."""
    key = question_of(row)
    if connection.execute(sa.select(questions.c.id).where(questions.c.id == key)).first() is not None:
        withdraw(connection, key)
