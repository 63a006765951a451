"""Who reads a coder's plan and change? The configured model; without one both are taken unreviewed, which is said.

One that is configured and cannot be asked is `away`: its word is wanted, so nothing is taken without it."""

from __future__ import annotations

from typing import Any, Literal

from touchline.roles.build import prompting
from touchline.roles.build.changes import enter, keep_data
from touchline.roles.build.rows import BuildRow, TaskRow, task_row
from touchline.roles.build.site import conventions_of, judge_of, rows_of, workshop_of
from touchline.roles.build.states import State
from touchline.roles.review.code import Reviewed, record_review, review_code, review_plan
from touchline.sessions.room import Room


def read_plan(room: Room, id: str, plan: str) -> dict[str, Any]:
    """The plan, read by the architect and kept with the task."""
    build, _ = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.PLAN_REVIEW, plan=plan)
    read = review_plan(
        task=_told(row),
        plan=plan,
        conventions=conventions_of(build, room),
        env=room.env,
        author=build.settings.model or "",
        line=judge_of(build, room),
    )
    return _kept(room, build, row, "plan", read)


def read_change(room: Room, id: str, head: str) -> dict[str, Any]:
    """The change, read by somebody other than its author."""
    build, _ = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.CODE_REVIEW)
    checks = [f"{each['command']}: {each['outcome']}. {each['why']}" for each in row.data.get("checks", ())]
    read = review_code(
        task=_told(row),
        diff=workshop_of(build, room).diff(row.data["base"], head),
        checks="\n".join(checks),
        conventions=conventions_of(build, room),
        env=room.env,
        author=build.settings.model or "",
        line=judge_of(build, room),
    )
    return _kept(room, build, row, "code", read)


def _kept(room: Room, build: BuildRow, row: TaskRow, kind: Literal["plan", "code"], read: Reviewed) -> dict[str, Any]:
    with room.database.writing() as connection:
        record_review(connection, read, kind=kind, task_id=row.id, build_id=row.build_id)
        before = task_row(connection, row.id, lock=True).data.get("reviews", ())
        keep_data(connection, row.id, reviews=[*before, {"of": kind, **read.to_json()}])
    what = "plan" if kind == "plan" else "change"
    away = read.verdict == "unreviewed" and bool(judge_of(build, room))
    return {**read.to_json(), "away": away, "message": prompting.text("changes_wanted", what=what, words=read.words)}


def _told(row: TaskRow) -> str:
    task = row.task
    return "\n".join([f"{task.id}: {task.title}", f"{task.action} {task.file}", *(f"- {r}" for r in task.requirements)])
