"""How does a build stand, and what has it cost? The agents' work per task, and what supervising them cost beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from touchline.models.booking import PURPOSE
from touchline.questions.asking import open_questions
from touchline.questions.question import QuestionRecord
from touchline.roles.build.escalating import WAIT, answer_to, option_of
from touchline.roles.build.leasing import standing_in
from touchline.roles.build.readiness import readiness
from touchline.roles.build.rows import BuildRow, TaskRow, build_row, tasks_of
from touchline.roles.build.stopping import StopReason
from touchline.sessions.raw import ESTIMATED
from touchline.store.tables import sessions, turns, usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Tokens and money."""

    tokens: int = 0
    usd: float = 0.0
    untold: int = 0
    """Turns, or questions to a model, that did not tell what they cost."""
    estimated: bool = False
    """Some of the money is the list price of tokens: the agent tells no cost."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            untold=self.untold + other.untold,
            estimated=self.estimated or other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        usd = None if self.untold and not self.usd else self.usd
        return {"tokens": self.tokens, "usd": usd, "untold": self.untold, "estimated": self.estimated}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOverview:
    """One task, as people see it."""

    row: TaskRow
    waits: str
    """Why it does not run yet; empty when it does, or has."""
    work: Cost
    """Its agents'."""
    supervision: Cost
    """Reviews and answers about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One build, as people see it."""

    build: BuildRow
    tasks: tuple[TaskOverview, ...]
    supervision: Cost
    """All that supervising cost, what belongs to no single task included."""
    questions: tuple[QuestionRecord, ...]
    """What waits for a person, blocking first."""
    answered: bool = False
    """Whether somebody answered for a blocked task, and it goes on as soon as something runs the build."""

    @property
    def work(self) -> Cost:
        return _total(each.work for each in self.tasks)

    @property
    def only_waits_for_people(self) -> bool:
        """Whether nothing goes on until somebody answers. A build of which no task runs any more ends by itself."""
        running = [each for each in self.tasks if each.row.running]
        free = [each for each in self.tasks if each.row.task.status == "pending" and each.waits == "ready"]
        undecided = [each for each in self.tasks if each.row.undecided]
        waits = bool(running) and all(each.row.state == "question" for each in running)
        return bool(self.questions) and waits and not free and not undecided


def overview_of(connection: sa.Connection, id: str = "") -> Overview:
    """The build with that id, or its beginning; the newest when none is named."""
    build = build_row(connection, id)
    rows = tasks_of(connection, build.id)
    costs = _costs(connection, build.id, [row.id for row in rows])
    waits = _waits(connection, build, rows)
    tasks = tuple(
        TaskOverview(
            row=row,
            waits=waits.get(row.id, ""),
            work=costs.get((row.id, False), Cost()),
            supervision=costs.get((row.id, True), Cost()),
        )
        for row in rows
    )
    mine = {row.id for row in rows}
    asked = tuple(each for each in open_questions(connection) if each.build_id == build.id or each.task_id in mine)
    supervision = _total(cost for (_, supervising), cost in costs.items() if supervising)
    return Overview(
        build=build, tasks=tasks, supervision=supervision, questions=asked, answered=_answered(connection, build, rows)
    )


def _answered(connection: sa.Connection, build: BuildRow, rows: tuple[TaskRow, ...]) -> bool:
    if build.ended and build.reason != StopReason.ESCALATED:
        return False  # then only `resume` goes on
    given = [answer for row in rows if (answer := answer_to(connection, row)) is not None]
    return any(option_of(answer) != WAIT for answer in given)


def _waits(connection: sa.Connection, build: BuildRow, rows: tuple[TaskRow, ...]) -> dict[str, str]:
    statuses = {row.task.id: row.task.status for row in rows}
    pending = [row for row in rows if row.task.status == "pending"]
    files = standing_in(connection, pending)
    return {
        row.id: str(readiness(row.task, statuses, us=build.id, owners=files.owners, holders=files.holders))
        for row in pending
    }


def _costs(connection: sa.Connection, build: str, tasks: list[str]) -> dict[tuple[str | None, bool], Cost]:
    """By task (None: the build's own) and whether it is supervision."""
    total = usage.c.input + usage.c.output + usage.c.cache_read + usage.c.cache_write
    supervising = usage.c.purpose.startswith(PURPOSE, autoescape=True)
    query = (
        sa.select(
            sessions.c.task_id,
            supervising.label("supervising"),
            sa.func.coalesce(usage.c.turn_id, usage.c.id).label("turn"),
            sa.func.sum(total).label("tokens"),
            sa.func.sum(usage.c.cost_usd).label("usd"),
            sa.func.max(sa.case((sa.cast(turns.c.usage, sa.Text).contains(ESTIMATED), 1), else_=0)).label("estimated"),
        )
        .select_from(usage)
        .outerjoin(sessions, usage.c.session_id == sessions.c.id)
        .outerjoin(turns, usage.c.turn_id == turns.c.id)
        .where(sa.or_(usage.c.build_id == build, sessions.c.task_id.in_(tasks)))
        .group_by(sessions.c.task_id, supervising, sa.func.coalesce(usage.c.turn_id, usage.c.id))
    )
    found: dict[tuple[str | None, bool], Cost] = {}
    for row in connection.execute(query):
        key = (row.task_id, bool(row.supervising))
        untold = int(row.usd is None and bool(row.tokens))
        cost, about = float(row.usd or 0.0), bool(row.estimated)
        one = Cost(tokens=int(row.tokens or 0), usd=cost, untold=untold, estimated=about)
        found[key] = found.get(key, Cost()) + one
    return found


def _total(costs: Iterable[Cost]) -> Cost:
    total = Cost()
    for each in costs:
        total = total + each
    return total
