"""Who reads a coder's plan and change? The configured model; without one both are taken unreviewed, which is said.

One that is configured and cannot be asked is `away`: its word is wanted, so nothing is taken without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from touchline.roles.build import prompting
from touchline.roles.build.changes import enter, keep_data
from touchline.roles.build.rows import BuildRow, TaskRow, task_row
from touchline.roles.build.site import conventions_of, judge_of, rows_of, workshop_of
from touchline.roles.build.states import State
from touchline.roles.review.code import Reviewed, record_review, review_code, review_plan
from touchline.sessions.room import Room
from touchline.store.fault_points import fault_point


def read_plan(room: Room, id: str, key: str, plan: str) -> dict[str, Any]:
    """The plan, read by the architect. The same `key` is the same reading, asked for once. It is kept with the task
    only when it is agreed on: what is kept is built, without being planned or read again."""
    build, _ = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.PLAN_REVIEW)

    def read() -> Reviewed:
        return review_plan(
            task=_told(row),
            plan=plan,
            specification=_specification(build),
            conventions=conventions_of(build, room),
            env=room.env,
            author=build.settings.model or "",
            line=judge_of(build, room),
        )

    told = _kept(room, build, row, "plan", key, read)
    if told["verdict"] != "needs_changes" and not told["away"]:
        with room.database.writing() as connection:
            enter(connection, id, State.PLAN_REVIEW, plan=plan)
    return told


def read_change(room: Room, id: str, key: str, head: str) -> dict[str, Any]:
    """The change, read by somebody other than its author. The same `key` is the same reading, asked for once."""
    build, _ = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State.CODE_REVIEW)
    accepted = row.data.get("accepted") or {}
    if accepted.get("head") == head:  # a person has read this very change; his review is kept already
        return {"verdict": "approved", "by": accepted["by"], "away": False}

    def read() -> Reviewed:
        checks = [f"{each['command']}: {each['outcome']}. {each['why']}" for each in row.data.get("checks", ())]
        return review_code(
            task=_told(row),
            diff=workshop_of(build, room).diff(row.data["base"], head),
            checks="\n".join(checks),
            specification=_specification(build),
            conventions=conventions_of(build, room),
            env=room.env,
            author=build.settings.model or "",
            line=judge_of(build, room),
        )

    return _kept(room, build, row, "code", key, read)


def _kept(
    room: Room, build: BuildRow, row: TaskRow, kind: Literal["plan", "code"], key: str, read: Callable[[], Reviewed]
) -> dict[str, Any]:
    """A reading that was kept before a crash is neither paid for nor counted again."""
    told = next((each for each in row.data.get("reviews", ()) if each.get("key") == key), None)
    if told is None:
        found = read()
        told = {"of": kind, "key": key, **found.to_json()}
        with room.database.writing() as connection:
            authors = row.data.get("sessions", {}).get("planning" if kind == "plan" else "coding") or (None,)
            record_review(
                connection, found, kind=kind, task_id=row.id, build_id=row.build_id, author_session=authors[-1]
            )
            before = task_row(connection, row.id, lock=True).data.get("reviews", ())
            keep_data(connection, row.id, reviews=[*before, told])
        fault_point("build.reviewed")
    what = "plan" if kind == "plan" else "change"
    away = told["verdict"] == "unreviewed" and bool(judge_of(build, room))
    return {**told, "away": away, "message": prompting.text("changes_wanted", what=what, words=told["words"])}


def _told(row: TaskRow) -> str:
    task = row.task
    return "\n".join([f"{task.id}: {task.title}", f"{task.action} {task.file}", *(f"- {r}" for r in task.requirements)])


def _specification(build: BuildRow) -> str:
    return "\n\n".join(filter(None, (build.agreement.get("objective"), build.agreement.get("contract"))))
