"""How does a build or a task change? Every change of their rows, with its event, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from touchline.roles.build.rows import TaskRow, task_row
from touchline.roles.build.settings import BuildSettings
from touchline.roles.build.states import RETURNS, State, check_move
from touchline.roles.specification.task import Task
from touchline.store.append import append
from touchline.store.columns import new_id, now
from touchline.store.events import Ids, NewEvent
from touchline.store.statuses import bump, create, move
from touchline.store.tables import builds, tasks

SOURCE = "build"


def create_build(
    connection: sa.Connection,
    *,
    id: str,
    spec_id: str,
    repository: str,
    settings: BuildSettings,
    planned: Sequence[Task],
    agreement: Mapping[str, str],
) -> None:
    """A new build with its tasks, in the order they were planned, and what they all must know."""
    create(
        connection,
        "builds",
        id=id,
        spec_id=spec_id,
        repository=repository,
        settings=settings.to_json(),
        budget=settings.budget,
        result={"agreement": dict(agreement)},
    )
    add_tasks(connection, id, planned, spec_id=spec_id)
    tell(connection, id, "build.requested", by="person", repository=repository)


def add_tasks(
    connection: sa.Connection, build: str, planned: Sequence[Task], *, spec_id: str, position: int = 0
) -> None:
    """Tasks of a build, in the order they were planned; the first has that position."""
    for number, task in enumerate(planned, start=position):
        create(
            connection,
            "tasks",
            id=new_id("task"),
            spec_id=spec_id,
            build_id=build,
            key=task.id,
            phase=task.phase,
            action=str(task.action),
            file=task.file,
            title=task.title,
            status="complete" if task.status == "complete" else "pending",
            state=str(State.DONE if task.status == "complete" else State.SETUP),
            requirements=list(task.requirements),
            gotchas=list(task.gotchas),
            validation={"command": task.check.command, "expected": task.check.expected},
            depends_on=list(task.depends_on),
            priority=task.priority,
            position=number,
            data={
                "code_template": task.code_template,
                "satisfies": list(task.satisfies),
                "critical": task.critical,
            },
        )


def enter(connection: sa.Connection, id: str, state: State, *, plan: str | None = None, **data: Any) -> TaskRow:
    """Go to another state, checked against the table; the same state again only takes the data."""
    row = task_row(connection, id, lock=True)
    origin = row.origin
    if state is not row.state:
        check_move(row.state, state, origin=row.origin)
        origin = row.state if state in RETURNS else None
    values: dict[str, Any] = {
        "state": str(state),
        "origin": None if origin is None else str(origin),
        "data": {**row.data, **data},
        "updated_at": now(),
    }
    if plan is not None:
        values["plan"] = plan
    connection.execute(tasks.update().where(tasks.c.id == id).values(**values))
    if state is not row.state:
        tell(connection, row.build_id, "task.state", task=id, before=str(row.state), after=str(state))
    return replace(row, state=state, origin=origin, data=values["data"], plan=row.plan if plan is None else plan)


def leave(connection: sa.Connection, id: str, side: State, **data: Any) -> TaskRow:
    """Go back from a side state to where the coder came from; nothing happens when it is not in it any more."""
    row = task_row(connection, id, lock=True)
    if row.state is not side or row.origin is None:
        return row
    return enter(connection, id, row.origin, **data)


def begin_again(connection: sa.Connection, id: str) -> None:
    """A new attempt begins at the beginning, wherever the last one ended: the one move that is not in the table."""
    values = {"state": str(State.SETUP), "origin": None, "updated_at": now()}
    connection.execute(tasks.update().where(tasks.c.id == id).values(**values))


def keep_data(connection: sa.Connection, id: str, **data: Any) -> TaskRow:
    """Remember more about a task without changing its state."""
    row = task_row(connection, id, lock=True)
    kept = {**row.data, **data}
    connection.execute(tasks.update().where(tasks.c.id == id).values(data=kept, updated_at=now()))
    return replace(row, data=kept)


def learn(connection: sa.Connection, id: str, lesson: str) -> None:
    """Write what an abandoned attempt taught into the task, before anybody can queue it again."""
    connection.execute(tasks.update().where(tasks.c.id == id).values(lesson=lesson, updated_at=now()))


def update_build(connection: sa.Connection, id: str, **values: Any) -> None:
    """Change columns of a build that are no status."""
    connection.execute(builds.update().where(builds.c.id == id).values(**values, updated_at=now()))


def move_build(connection: sa.Connection, id: str, to: str, *, reason: str | None = None, **also: Any) -> None:
    move(connection, "builds", id, to, reason=reason, **also)


def run_again(connection: sa.Connection, id: str, *, by: str, **also: Any) -> int:
    """A build that has ended runs from here on, whatever becomes of this process; the number of its run. The caller
    starts that run; a build that nothing runs is found at the next start (`reconciling`)."""
    began = {"started_at": now(), "ended_at": None, "detail": "", "wanted": "run"}
    move_build(connection, id, "running", reason="started", **began, **also)
    tell(connection, id, "build.resume", by=by)
    return bump(connection, "builds", id, "runs")


def tell(connection: sa.Connection, build: str, type: str, *, task: str | None = None, **payload: Any) -> None:
    """An event of the build; what is None is left out."""
    told = {name: value for name, value in payload.items() if value is not None}
    append(connection, [NewEvent(type=type, payload=told, source=SOURCE, ids=Ids(build=build, task=task))])
