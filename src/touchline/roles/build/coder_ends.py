"""How does a run of a task end? Its row, its attempt and its event in one transaction; then tasks.md follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from touchline.roles.build.changes import enter, keep_data, learn, leave, tell
from touchline.roles.build.rows import task_row
from touchline.roles.build.site import rows_of
from touchline.roles.build.states import State
from touchline.roles.build.tasks_md import note
from touchline.sessions.room import Room
from touchline.store.columns import now
from touchline.store.fault_points import fault_point
from touchline.store.statuses import bump, move
from touchline.store.tables import attempts

_WORD = 80


def complete(connection: sa.Connection, id: str, number: int, done: Mapping[str, Any]) -> None:
    """The task is done."""
    row = task_row(connection, id, lock=True)
    if row.task.status == "complete":
        return
    if row.state not in (State.TESTING, State.MERGING):
        enter(connection, id, State.TESTING)
    row = enter(connection, id, State.DONE, commit=done.get("commit"), ended=None)
    move(connection, "tasks", id, "complete", reason="done")
    told = {"attempt": row.attempts, "commit": done.get("commit"), "seconds": _ended(connection, id, number, "passed")}
    changed = [row.task.file] if row.task.file else []
    tell(connection, row.build_id, "task.completed", task=id, changed=changed, **told)


def fail(connection: sa.Connection, id: str, number: int, why: Mapping[str, Any]) -> None:
    """The run is over. What follows is decided by the build, from what is written here."""
    row = task_row(connection, id, lock=True)
    if not row.running:
        return  # the build was stopped meanwhile, and has put it back
    reason, detail = str(why["reason"]), str(why["detail"])
    failure = {"attempt": row.attempt, "run": row.number, "reason": reason, "detail": detail[:4000]}
    before = [*row.data.get("failures", ()), failure]
    ended = {name: why.get(name) for name in ("how", "reason", "final")} | {"detail": detail[:4000]}
    if row.state is not State.ERROR:
        enter(connection, id, State.ERROR)
    keep_data(connection, id, failures=before[-20:], ended=ended)
    if why.get("lesson"):
        learn(connection, id, str(why["lesson"]))
    move(connection, "tasks", id, "failed", reason=reason[:_WORD])
    status = "interrupted" if why["how"] == "stopped" else "failed"
    _ended(connection, id, number, status, reason[:_WORD])
    told = {"reason": reason, "detail": detail[:2000], "attempt": row.attempt}
    tell(connection, row.build_id, "task.failed", task=id, **told)


def tries(connection: sa.Connection, id: str) -> int:
    """How many attempts were made; one that was not spent yet is none."""
    return task_row(connection, id).tries


def spend(connection: sa.Connection, id: str) -> None:
    """An agent, or the check of a VERIFY task, gets to work: that is an attempt, counted once."""
    row = task_row(connection, id, lock=True)
    if not row.spent:
        count(connection, id)


def count(connection: sa.Connection, id: str) -> None:
    """Another attempt; in the session that is there, if one is."""
    row = task_row(connection, id, lock=True)
    bump(connection, "tasks", id, "attempts")
    keep_data(connection, id, spent=row.data.get("session_run"))


def suspend(connection: sa.Connection, id: str) -> None:
    """The provider is away, or the agent crashed: the coder waits where it is."""
    if task_row(connection, id, lock=True).state is not State.SUSPENDED:
        enter(connection, id, State.SUSPENDED)


def wake(connection: sa.Connection, id: str) -> None:
    leave(connection, id, State.SUSPENDED)


def note_in_file(room: Room, id: str) -> None:
    """Bring tasks.md up to date: the status, the box, a line in the log; everything else stays as people wrote it."""
    fault_point("build.task_done")
    build, row = rows_of(room, id)
    note(room.database, build, row)


def _ended(connection: sa.Connection, id: str, number: int, status: str, reason: str | None = None) -> float:
    """End the attempt's row; how long it took."""
    key = f"{id}/attempt-{number}"
    found = connection.execute(sa.select(attempts.c.status, attempts.c.started_at).where(attempts.c.id == key)).first()
    if found is None:
        return 0.0
    if found.status == "running":
        move(connection, "attempts", key, status, reason=reason, ended_at=now())
    return float(max(0.0, (now() - found.started_at).total_seconds()))
