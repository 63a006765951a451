"""What does Touchline itself do to a coder's work? Checks it in a fresh clone, and puts it on the build's branch.

Each function is a step: done again after a crash it finds what it did before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from touchline.roles.build import prompting
from touchline.roles.build.changes import begin_again, enter, keep_data, tell
from touchline.roles.build.failures import Failure, classify_failure, missing_package
from touchline.roles.build.installing import install
from touchline.roles.build.leasing import still_leased, token_of
from touchline.roles.build.live import announce_overlaps
from touchline.roles.build.own_names import is_own_to
from touchline.roles.build.rows import BuildRow, TaskRow, task_row, tasks_of
from touchline.roles.build.site import rows_of, site_at, workshop_of
from touchline.roles.build.states import State
from touchline.roles.build.workshop import Merged, Workshop
from touchline.roles.specification.task import TaskAction
from touchline.roles.validation.results import CheckResult, Outcome
from touchline.roles.validation.running import run_command
from touchline.sessions.room import Room
from touchline.store.fault_points import fault_point
from touchline.store.statuses import create_once


def set_up(room: Room, id: str, number: int) -> dict[str, Any]:
    """Where to begin: at the plan, at the work, at the check of what an earlier run left, or nowhere at all."""
    build, row = rows_of(room, id)
    with room.database.writing() as connection:
        create_once(connection, "attempts", unique="id", id=f"{id}/attempt-{number}", task_id=id, number=number)
        if task_row(connection, id, lock=True).state is State.ERROR:
            begin_again(connection, id)
    shop = workshop_of(build, room)
    if commit := shop.done(row.task.id):
        return {"then": "done", "commit": commit}
    if row.task.action is TaskAction.VERIFY:
        return {"then": "verify"}
    if number > 1 and (finished := finished_already(room, build, row, shop, number)):
        return finished
    return {"then": "plan" if build.settings.plan and not row.plan else "code"}


def finished_already(room: Room, build: BuildRow, row: TaskRow, shop: Workshop, number: int) -> dict[str, Any] | None:
    """Before another attempt is spent: what the last one left, or others did, may be good by now. Never while a
    person's words wait for somebody to act on them, whatever the check says."""
    head, base = row.data.get("head"), row.data.get("base")
    if row.data.get("rebase") or row.unheard:
        return None
    if head and base and shop.tree(head) != shop.tree(base):
        checked = check_of(room, build, row, head, name=f"{row.task.id}-before-{number}")
        return {"then": "test", "head": head} if checked.outcome is Outcome.PASSED else None
    there = row.task.file in shop.names("refs/heads/build")
    if (row.task.action is TaskAction.CREATE and there) or (row.task.action is TaskAction.DELETE and not there):
        # Only where the file itself shows it: the check of an update may pass before anything was done.
        checked = check_of(room, build, row, shop.head(), name=f"{row.task.id}-there-{number}")
        return {"then": "done", "commit": None} if checked.outcome is Outcome.PASSED else None
    return None


def test(room: Room, id: str, head: str, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """Touchline's own run of the task's check, in a fresh clone of what the agent handed in."""
    build, row = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.TESTING)
    result = check_of(room, build, row, head, name=f"{row.task.id}-{head[:12]}", must_stop=must_stop)
    return _shown(room, build, row, result, tree=workshop_of(build, room).tree(head))


def verify(room: Room, id: str, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """The check of a VERIFY task, on the branch as it is now."""
    build, row = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.TESTING)
    head = workshop_of(build, room).head()
    result = check_of(room, build, row, head, name=f"{row.task.id}-{head[:12]}", must_stop=must_stop)
    return _shown(room, build, row, result)


def merge(room: Room, id: str, head: str, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """Put the change on the branch: one at a time, validated again when others came in between."""
    build, _ = rows_of(room, id)
    shop = workshop_of(build, room)
    with room.database.writing() as connection:
        row = enter(connection, id, State.MERGING)
        running = [each for each in tasks_of(connection, build.id) if each.running]
    announce_overlaps(room, build, running)
    token = token_of(room, row)
    with shop.locked("merging", must_stop):
        if commit := shop.done(row.task.id):
            return {"how": "merged", "commit": commit}
        merged = shop.merge(head, message=_subject(row), task=row.task.id)
        if merged.conflicts:
            return _in_conflict(room, row, head, merged)
        if merged.tree != row.data.get("tree"):
            result = check_of(room, build, row, merged.commit, name=f"merge-{merged.commit[:12]}", must_stop=must_stop)
            if result.outcome is not Outcome.PASSED:
                words = "Together with what other tasks did meanwhile the check does not pass."
                _to_be_rebased(room, row, head, words)
                return {"how": "failed", "reason": "validation", "detail": f"{words} {result.why}\n{result.tail}"}
        fault_point("build.merged")
        with room.database.writing() as connection:
            still_leased(connection, row, token)
            shop.advance(merged)
    return {"how": "merged", "commit": merged.commit}


def check_of(
    room: Room,
    build: BuildRow,
    row: TaskRow,
    commit: str,
    *,
    name: str,
    must_stop: Callable[[], bool] = lambda: False,
) -> CheckResult:
    """The task's check on a commit, in a scratch clone. What it lacks is installed there, when that is allowed."""
    with workshop_of(build, room).trying(commit, name) as folder:
        site = site_at(build, room, folder, must_stop=must_stop)
        check, seconds = row.task.check, build.settings.check_seconds
        result = run_command(check.command, site, name=name, seconds=seconds, expected=check.expected)
        if result.outcome is Outcome.PASSED or not build.settings.may_install:
            return result
        package = missing_package(result.tail)
        found = classify_failure(result.tail, checked=True, is_own=partial(is_own_to, room, build, row))
        if not package or found is not Failure.MISSING_DEPENDENCY:
            return result
        installed = install(site, package, name=f"{name}-install", seconds=seconds)
        if installed is None:
            return result
        return run_command(check.command, installed, name=name, seconds=seconds, expected=check.expected)


def _in_conflict(room: Room, row: TaskRow, head: str, merged: Merged) -> dict[str, Any]:
    files = ", ".join(merged.conflicts)
    _to_be_rebased(room, row, head, f"Another task changed the same places meanwhile ({files}).")
    with room.database.writing() as connection:
        told = {"kind": "merge", "resource": files, "members": [row.task.id]}
        tell(connection, row.build_id, "conflict.detected", task=row.id, **told)
    return {"how": "failed", "reason": "conflict", "detail": f"CONFLICT (content): {files}"}


def _to_be_rebased(room: Room, row: TaskRow, head: str, why: str) -> None:
    with room.database.writing() as connection:
        keep_data(connection, row.id, rebase={"why": why, "head": head, "base": row.data["base"]})


def _shown(
    room: Room, build: BuildRow, row: TaskRow, result: CheckResult, *, tree: str | None = None
) -> dict[str, Any]:
    is_own = partial(is_own_to, room, build, row)
    failure = classify_failure(result.tail, exit_code=result.exit_code, checked=True, is_own=is_own)
    if result.outcome is not Outcome.PASSED and failure is Failure.OTHER:
        failure = Failure.VALIDATION  # it exited with 0, and that proved nothing
    entry = {"command": result.command, "outcome": str(result.outcome), "why": result.why, "seconds": result.seconds}
    with room.database.writing() as connection:
        before = task_row(connection, row.id, lock=True).data.get("checks", ())
        keep_data(connection, row.id, checks=[*before, entry][-20:], tree=tree)
    words = prompting.text("again", command=result.command, why=result.why, output=result.tail[-3000:])
    last = next((line.strip() for line in reversed(result.tail.splitlines()) if line.strip()), "")
    detail = f"{result.why} {last}\n{result.tail}".strip()
    return {"outcome": str(result.outcome), "failure": str(failure), "detail": detail, "message": words}


def _subject(row: TaskRow) -> str:
    task = row.task
    words = " ".join(task.title.split()) or f"{str(task.action).title()} {task.file}"
    return f"{task.id}: {words}"
