"""How does a coder's agent get to work? One supervised session per state and run; each step may be done again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from touchline.engine.port import Engine
from touchline.roles.build import prompting
from touchline.roles.build.architecting import NAME as ARCHITECT
from touchline.roles.build.awaiting import await_session
from touchline.roles.build.changes import enter, keep_data
from touchline.roles.build.failures import Failure, classify_failure, missing_package
from touchline.roles.build.installing import install_command
from touchline.roles.build.own_names import is_own_to
from touchline.roles.build.rows import BuildRow, TaskRow
from touchline.roles.build.site import conventions_of, idea_of, judge_of, rows_of, workshop_of
from touchline.roles.build.states import State
from touchline.sessions.asked import Asked
from touchline.sessions.records import session_record
from touchline.sessions.room import Room
from touchline.sessions.starting import start_session
from touchline.sessions.stopping import resume_session

_REFUSED_CHECK = frozenset({"completion_rejected", "rejected_again", "cap_reached"})
"""Ends of a session whose last word was the check's."""
_REJECTED = frozenset({"plan_rejected", "change_rejected"})
"""Ends whose reason is the reviewer's words, which are told as such."""


def start(room: Room, engine: Engine, id: str, state: str, round: str, message: str) -> str:
    """Start the session of a state, or let it go on, with a message; its id. Again for the same round: no effect."""
    build, _ = rows_of(room, id)
    with room.database.writing() as connection:
        row = enter(connection, id, State(state))
        session = f"{id}-{state}-{row.data.get('session_run', 1)}"
        mark = f"{session} {row.number} {round}"
        known: Mapping[str, list[str]] = row.data.get("sessions", {})
        if session not in known.get(state, ()):
            begun = {"round": mark, "runs": 0}  # its first run is for this round
            sessions = {**known, state: [*known.get(state, ()), session]}
            row = keep_data(connection, id, sessions=sessions, resumed=begun)
    start_session(engine, room.database, _asked(room, build, row, state, message), id=session)
    with room.database.reading() as connection:
        record = session_record(connection, session)
    before: Mapping[str, Any] = row.data.get("resumed") or {}
    resumed = before.get("round") == mark and record.runs > before["runs"]
    if not record.ended or resumed or (round == f"{state} 1" and record.status != "stopped"):
        return session
    with room.database.writing() as connection:
        keep_data(connection, id, resumed={"round": mark, "runs": record.runs})
    resume_session(engine, room.database, session, message, by="build")
    return session


def await_end(room: Room, engine: Engine, id: str, state: str, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """Wait for the session of a state, and take over what it brought."""
    build, row = rows_of(room, id)
    ended = await_session(engine, room.database, row.data["sessions"][state][-1], id, must_stop)
    if state == State.CODING and ended["head"]:
        with room.database.writing() as connection:
            row = keep_data(connection, id, head=ended["head"], base=ended["base"], rebase=None, heard=True)
    return _judged(ended, partial(is_own_to, room, build, row)) if state == State.CODING else ended


def _judged(ended: dict[str, Any], is_own: Callable[[str], bool]) -> dict[str, Any]:
    """What a coding session's end means for the task."""
    if ended["how"] == "accepted":
        if ended["changes_error"]:
            return ended | {"how": "failed", "reason": "not_collected", "detail": ended["changes_error"]}
        if not ended["files"]:
            words = "The agent says it is done and changed nothing."
            return ended | {"how": "failed", "reason": "no_change", "detail": words}
        return ended
    if ended["how"] == "unresolved" and ended["reason"] in _REFUSED_CHECK and ended["check"]:
        # Told apart by what the check wrote: a file that does not parse is another matter than a test that fails.
        failure = classify_failure(ended["check"], exit_code=1, checked=True, is_own=is_own)
        ended |= {"reason": str(failure), "detail": f"{ended['detail']}\n{ended['check']}"}
    return ended


def _asked(room: Room, build: BuildRow, row: TaskRow, state: str, message: str) -> Asked:
    settings, planning = build.settings, state == State.PLANNING
    told = {
        "contract": build.agreement.get("contract", ""),
        "conventions": conventions_of(build, room),
        "idea": idea_of(build, room),
        "before": _before(room, build, row, planning=planning, message=message),
    }
    judge = judge_of(build, room)
    return Asked(
        task=prompting.planning_prompt(row.task, **told)
        if planning
        else prompting.coding_prompt(row.task, plan=row.plan, **told),
        planned="" if planning else row.plan,
        repository=build.workshop,
        agent=settings.agent,
        model=settings.model,
        check=None if planning or not row.task.check.command else row.task.check.command,
        check_seconds=settings.check_seconds,
        contract={"marker": True},
        turns=settings.planning_turns if planning else settings.coding_turns,
        read_only=planning,
        sandbox=settings.sandbox,
        reviewer=ARCHITECT if judge else None,
        reviewer_model=judge or None,
        turn_seconds=settings.turn_seconds,
        silence_seconds=settings.silence_seconds,
        flags=settings.flags,
        environment=settings.environment,
        plugins=settings.plugins,
        requests=settings.requests,
        settings=dict(settings.agent_settings),
        channel="terminal",
        task_id=row.id,
    )


def _before(room: Room, build: BuildRow, row: TaskRow, *, planning: bool, message: str) -> str:
    """What a new conversation must know of those before it. `message` is what was just said about their work."""
    parts = [prompting.text("lesson", lesson=row.lesson)] if row.lesson else []
    if words := row.data.get("advice"):
        parts.append(prompting.text("advice", words=str(words)))
    said = message or _wanted(row, "plan" if planning else "code")
    parts += [said] if said else []
    rebase, failures = row.data.get("rebase"), row.data.get("failures") or ()
    if not rebase and not planning and (said or row.unheard) and (diff := _left(room, build, row)):
        parts.append(prompting.text("left", diff=diff))
    if rebase:
        diff = workshop_of(build, room).diff(rebase["base"], rebase["head"], limit=20_000)
        parts.append(prompting.text("rebase", why=rebase["why"], diff=diff))
    elif failures and not row.lesson and failures[-1]["reason"] not in _REJECTED:
        parts.append(prompting.text("failed_before", why=str(failures[-1]["detail"])[:2000]))
    if failures and failures[-1]["reason"] == Failure.MISSING_DEPENDENCY and build.settings.may_install:
        package = missing_package(str(failures[-1]["detail"]))
        command = install_command(workshop_of(build, room).names("refs/heads/build"), package)
        parts.append(prompting.text("install", package=package, command=command or f"install {package}"))
    return "\n\n".join(parts)


def _wanted(row: TaskRow, kind: str) -> str:
    """The changes that a reviewer wanted last and has not seen yet; empty when there are none."""
    read = [each for each in row.data.get("reviews", ()) if each["of"] == kind and each["verdict"] != "unreviewed"]
    if not read or read[-1]["verdict"] != "needs_changes":
        return ""
    return prompting.text("changes_wanted", what="plan" if kind == "plan" else "change", words=read[-1]["words"])


def _left(room: Room, build: BuildRow, row: TaskRow) -> str:
    """What the conversations before this one changed."""
    head, base = row.data.get("head"), row.data.get("base")
    return workshop_of(build, room).diff(base, head, limit=20_000) if head and base else ""
