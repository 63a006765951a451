"""A build, from its first task to its last: the workflow that starts tasks when they are ready and ends them all.

The tasks themselves are workflows of their own (`coder`). Whatever dies in between, the next process goes on here: what
was started is started once, what was committed is committed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from touchline.engine.port import Flow
from touchline.engine.workbook import BOOK
from touchline.errors import BuildError
from touchline.roles.build import coder, ending, escalating
from touchline.roles.build.changes import begin_again, keep_data, move_build, tell, update_build
from touchline.roles.build.coder_ends import fail, note_in_file
from touchline.roles.build.failures import Failure, back_off
from touchline.roles.build.faults import guarded
from touchline.roles.build.leasing import give_back
from touchline.roles.build.live import announce_overlaps
from touchline.roles.build.rows import BuildRow, TaskRow, build_row, task_row, tasks_of
from touchline.roles.build.scheduling import wait_for_work
from touchline.roles.build.site import builds_folder
from touchline.roles.build.stopping import StopReason
from touchline.roles.build.workshop import Workshop
from touchline.sessions.room import Room, current_room
from touchline.store.columns import now
from touchline.store.outages import patiently
from touchline.store.statuses import move

WORKFLOW = "build.run"
QUEUE = escalating.QUEUE
_WORD = 80


@BOOK.workflow(WORKFLOW, queue=QUEUE)
def run_build(flow: Flow, id: str) -> str:
    """A build from its beginning, or from where it was stopped; the status it ends in."""
    room = current_room()
    primed = flow.step("prime", guarded, prime, room, id)
    if "fault" in primed:
        return _halt(flow, room, id, 0, {"reason": str(StopReason.ENVIRONMENT), "detail": primed["fault"]["detail"]})
    flow.transaction("begin", begin, id, primed)
    number = 0
    while True:
        number += 1
        following = flow.step(f"next {number}", _next, room, id, flow)
        if following["halt"] is not None:
            if halted := _halt(flow, room, id, number, following["halt"]):
                return halted
            continue  # the answer that it was to end for came in this very moment
        if following["done"]:
            shown = flow.step("validate", guarded, ending.validate_whole, room, id, flow.must_stop)
            if "halt" in shown:
                return _halt(flow, room, id, number, shown["halt"])
            return flow.transaction("end", ending.ended, id, shown)
        for task, why in following["lost"]:
            flow.step(f"end sessions of {task} {number}", patiently, ending.end_sessions, room, flow.engine, [task])
            flow.transaction(f"lost {task} {number}", lost, task, why)
        for task, why in following["skip"]:
            flow.transaction(f"skip {task} {number}", skip, task, why)
            flow.step(f"note {task} {number}", guarded, _left, room, task)
        for task, why in following["escalate"]:
            escalating.escalate(flow, room, task, why, number)
        for task, why in following["again"]:
            flow.transaction(f"again {task} {number}", again, task, why)
        for task in following["start"]:
            run = flow.transaction(f"start {task} {number}", start_task, task)
            flow.engine.start(coder.WORKFLOW, [task, run], id=f"{task}/attempt-{run}", queue=coder.QUEUE)


def prime(room: Room, id: str) -> dict[str, Any]:
    """Make the build's own repository from the person's newest commit. Done again it changes nothing.

    BuildError when it was made and is not there: a new one would have nothing of the tasks that are complete.
    """
    with room.database.reading() as connection:
        build = build_row(connection, id)
    if build.workshop and not Path(build.workshop).is_dir():
        raise BuildError(
            f"The repository of the build {id} is gone: {build.workshop}.",
            hint="What ended long ago is removed. Set what you never applied to pending in tasks.md, then start anew.",
        )
    path = Path(build.workshop) if build.workshop else builds_folder(room) / id / "workshop.git"
    base = Workshop(path=path, env=room.env).make(Path(build.repository))
    return {"workshop": str(path), "base": base}


def begin(connection: sa.Connection, id: str, primed: Mapping[str, Any]) -> None:
    """The build runs from here on. The first run that comes so far writes down where its repository is."""
    build = build_row(connection, id)
    if not build.workshop:
        update_build(connection, id, workshop=primed["workshop"], base_commit=primed["base"])
    if build.status == "requested":
        move_build(connection, id, "primed")
        tell(connection, id, "build.primed", tasks=len(tasks_of(connection, id)))
    if build.status != "running":
        move_build(connection, id, "running", reason="started", started_at=now(), ended_at=None, detail="")
    tell(connection, id, "build.started", repository=build.repository)


def start_task(connection: sa.Connection, id: str) -> int:
    """Say that it runs; the number of its run. A new attempt has sessions of its own, and is counted when one of them
    begins (`coder_ends.spend`); what cost nobody an attempt goes on with those it had."""
    row = task_row(connection, id, lock=True)
    number = row.number + 1
    if row.data.get("counts", True):
        keep_data(connection, id, session_run=number)
    row = keep_data(connection, id, ended=None, counts=True, number=number)
    move(connection, "tasks", id, "in_progress", reason="started")
    tell(connection, row.build_id, "task.started", task=id, attempt=row.attempt, worker=row.holder)
    return number


def again(connection: sa.Connection, id: str, why: str) -> None:
    """Queue a task that failed once more; after an outage not before it may have passed, and it was no attempt."""
    row = task_row(connection, id, lock=True)
    reason = str(row.ended.get("reason", ""))
    outage = reason == Failure.TRANSIENT
    rests = now() + timedelta(seconds=back_off(current_room().limits, row.outages - 1)) if outage else None
    keep_data(
        connection,
        id,
        ended={**row.ended, "decided": "again"},
        counts=not outage and row.ended.get("how") != "stopped",
        rests_until=None if rests is None else rests.isoformat(),
    )
    begin_again(connection, id)
    move(connection, "tasks", id, "pending", reason=reason[:_WORD])
    tell(connection, row.build_id, "task.retry", task=id, reason=reason, detail=why, attempt=row.attempts)


def skip(connection: sa.Connection, id: str, why: str) -> None:
    """Leave a task out. One that failed stays so: the build counts it, and what needs it is left out in its turn."""
    row = task_row(connection, id, lock=True)
    ended = {**row.ended, "decided": "skip", "detail": row.ended.get("detail") or why}
    keep_data(connection, id, ended=ended)
    if row.task.status != "failed":
        move(connection, "tasks", id, "skipped", reason="dependency")
    tell(connection, row.build_id, "task.skipped", task=id, reason=why)


def lost(connection: sa.Connection, id: str, why: str) -> None:
    """End a run that nothing runs any more."""
    row = task_row(connection, id, lock=True)
    fail(connection, id, row.number, {"how": "failed", "reason": "lost", "detail": why})


def _next(room: Room, id: str, flow: Flow) -> dict[str, Any]:
    def look(build: BuildRow, running: Sequence[TaskRow]) -> None:
        guarded(announce_overlaps, room, build, running)

    return patiently(wait_for_work, room, id, flow.engine, flow.must_stop, look)


def _left(room: Room, id: str) -> None:
    """What a task that is left out waited for is given back, and tasks.md says so."""
    give_back(room, id)
    note_in_file(room, id)


def _halt(flow: Flow, room: Room, id: str, number: int, halt: Mapping[str, Any]) -> str:
    flow.step(f"stop tasks {number}", patiently, ending.stop_tasks, room, flow.engine, id)
    return flow.transaction(f"halt {number}", ending.halted, id, halt)
