"""How does a build end? With the repository's own checks on the whole, or halted: what runs is stopped, and kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from touchline.engine.port import Engine
from touchline.roles.build.changes import begin_again, enter, keep_data, move_build, tell
from touchline.roles.build.leasing import let_go
from touchline.roles.build.rows import build_row, task_row, tasks_of
from touchline.roles.build.site import site_at, workshop_of
from touchline.roles.build.states import State
from touchline.roles.build.stopping import Halt, Progress, StopReason, why_stop
from touchline.roles.build.working_time import WorkingTime
from touchline.roles.validation.results import Outcome
from touchline.roles.validation.running import validate
from touchline.sessions.records import ENDED
from touchline.sessions.room import Room
from touchline.sessions.stopping import stop_session
from touchline.store.columns import now
from touchline.store.statuses import move
from touchline.store.tables import sessions, specs

STOP_SECONDS = 60.0
"""How long the end of what runs is waited for; the kill ladder of a turn needs seconds."""
_LINES, _LINE = 8, 200
"""How much of a failed check's output is told: its last lines, and of each so many characters."""
_FAILED = frozenset({StopReason.TOO_MANY_FAILED, StopReason.CRITICAL_FAILED, StopReason.ENVIRONMENT, StopReason.LOST})


_REASONS = {
    Outcome.PASSED: "completed",
    Outcome.UNVERIFIED: "unverified",
    Outcome.FAILED: "validation_failed",
    Outcome.ERROR: "validation_failed",
}
"""Why a build ended whose tasks are all complete, by what its validation as a whole came to."""


def stop_tasks(room: Room, engine: Engine, id: str) -> int:
    """End what still runs, wait until it has ended, and put it back to be gone on with; how many there were."""
    with room.database.reading() as connection:
        running = [row for row in tasks_of(connection, id) if row.running]
    for row in running:
        engine.cancel(row.job)  # first: a workflow that sees its session end would call that a failure
    end_sessions(room, engine, [row.id for row in running])
    for row in running:
        with room.database.writing() as connection:
            put_back(connection, row.id)
        let_go(room, row)
    return len(running)


def end_sessions(room: Room, engine: Engine, tasks: Sequence[str]) -> None:
    """Stop the sessions of tasks, and wait until they have; one may be started while this goes on."""
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until:
        open_ones = [session for task in tasks for session in _open_sessions(room, task)]
        if not open_ones:
            return
        for session in open_ones:
            stop_session(engine, room.database, session, by="build")
        time.sleep(0.1)


def put_back(connection: sa.Connection, id: str) -> None:
    """A task that was stopped in the middle is pending again, and that was no attempt."""
    row = task_row(connection, id, lock=True)
    if not row.running:
        return
    if row.state not in (State.DONE, State.ERROR):
        enter(connection, id, State.ERROR)
    keep_data(connection, id, counts=False, asked_of=None)
    begin_again(connection, id)
    move(connection, "tasks", id, "pending", reason="stopped")


def validate_whole(room: Room, id: str, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """The last word: the repository's own checks on the branch as a whole. `{"halt": ...}` when a person stopped the
    build meanwhile, or its time was over: then nothing is known about the whole."""
    with room.database.reading() as connection:
        build = build_row(connection, id)
    shop = workshop_of(build, room)
    head = shop.head()
    worked, began = WorkingTime(room.database).seconds(build, ()), time.monotonic()
    halt: Halt | None = None

    def unwanted() -> bool:
        nonlocal halt
        with room.database.reading() as connection:
            stop = build_row(connection, id).wanted == "stop"  # a pause lets what runs come to its end
        progress = Progress(tasks=(), seconds=worked + time.monotonic() - began, stop_requested=stop)
        halt = why_stop(progress, max_seconds=build.settings.max_seconds)
        return halt is not None or must_stop()

    with shop.trying(head, f"whole-{head[:12]}") as folder:
        site = site_at(build, room, folder, must_stop=unwanted)
        found = validate(build.settings.validation, site, given=build.settings.commands)
    if halt is not None:
        return {"halt": halt.to_json()}
    shutil.rmtree(shop.scratch, ignore_errors=True)
    return {**found.to_json(), "head": head}


def halted(connection: sa.Connection, id: str, halt: Mapping[str, Any]) -> str:
    """The build stops here, with its reason; `resume` goes on. Empty when the reason is gone: who was waited for has
    answered. (He saw a build that runs, and left the going on to it; that is why his task is locked here.)"""
    if any(task_row(connection, task, lock=True).task.status != "blocked" for task in halt.get("waiting", ())):
        return ""
    build = build_row(connection, id)
    reason, detail = StopReason(halt["reason"]), str(halt["detail"])
    status = "failed" if reason in _FAILED else "stopped"
    if not build.ended:
        move_build(connection, id, status, reason=str(reason), detail=detail, ended_at=now())
        tell(connection, id, "build.stopped", reason=str(reason), detail=detail)
    return status


def ended(connection: sa.Connection, id: str, shown: Mapping[str, Any]) -> str:
    """The build has no task left. It is complete when every task is, and the whole was not seen to fail."""
    build = build_row(connection, id)
    if build.ended:
        return build.status
    if "fault" in shown:
        reason = StopReason.ENVIRONMENT if shown["fault"]["reason"] == "environment" else StopReason.LOST
        return halted(connection, id, {"reason": reason, "detail": shown["fault"]["detail"]})
    rows = tasks_of(connection, id)
    counts = {status: sum(row.task.status == status for row in rows) for status in ("complete", "failed", "skipped")}
    whole = counts["complete"] == len(rows)
    outcome = Outcome(shown["outcome"])
    good = whole and outcome in (Outcome.PASSED, Outcome.UNVERIFIED)
    why = _REASONS[outcome] if whole else "tasks_open"
    detail = _words(shown, counts, len(rows))
    if why == "validation_failed":
        path = connection.execute(sa.select(specs.c.tasks_path).where(specs.c.id == build.spec_id)).scalar()
        detail += f"\nMend it by a further task in {path}, then resume the build; or apply it, and mend it yourself."
    seconds = (now() - build.started_at).total_seconds() if build.started_at else 0.0
    move_build(
        connection,
        id,
        "complete" if good else "failed",
        reason=why,
        detail=detail,
        result={**build.result, "validation": dict(shown), **counts},
        head_commit=shown["head"],
        ended_at=now(),
    )
    told: dict[str, Any] = {"seconds": seconds, "outcome": shown["outcome"], **counts}
    tell(connection, id, "build.completed", **told)
    return "complete" if good else "failed"


def _words(shown: Mapping[str, Any], counts: Mapping[str, int], total: int) -> str:
    text = f"{counts['complete']} of {total} tasks complete. Validation ({shown['level']}): {shown['outcome']}."
    text += f" Not there: {', '.join(shown['absent'])}." if shown["absent"] else ""
    for each in shown["results"]:
        if each["outcome"] in (Outcome.FAILED, Outcome.ERROR):
            last = [line.rstrip()[:_LINE] for line in each["tail"].splitlines() if line.strip()][-_LINES:]
            text += "\n".join([f"\n{each['name']} ({each['command']}): {each['why']}", *(f"  {line}" for line in last)])
    return text


def _open_sessions(room: Room, task: str) -> list[str]:
    """Read anew each time: a session may have been started just before its workflow was cancelled."""
    with room.database.reading() as connection:
        query = sa.select(sessions.c.id).where(sessions.c.task_id == task, sessions.c.status.not_in(sorted(ENDED)))
        return list(connection.execute(query).scalars())
