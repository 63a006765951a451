"""What does a build do next? Looks at the tasks and at what people want, and waits until there is something to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from touchline.engine.port import Engine
from touchline.roles.build.failures import Failure, FailureDecision, decide_failure
from touchline.roles.build.leasing import keep_alive, standing_in, take
from touchline.roles.build.readiness import readiness
from touchline.roles.build.rows import BuildRow, TaskRow, build_row, tasks_of
from touchline.roles.build.states import State
from touchline.roles.build.stopping import Halt, Progress, StopReason, why_stop
from touchline.roles.build.working_time import WorkingTime
from touchline.sessions.room import Room
from touchline.store.columns import now

POLL_SECONDS = 0.2
RENEW_SECONDS = 300.0
LOOK_SECONDS = 3.0
"""How often running tasks are compared for overlapping lines, and looked for in the engine."""
_KINDS = {
    **{str(failure): failure for failure in Failure},
    "completion_rejected": Failure.VALIDATION,
    "rejected_again": Failure.VALIDATION,
    "cap_reached": Failure.VALIDATION,
    "contract_failed": Failure.VALIDATION,
    "no_change": Failure.VALIDATION,
    "budget_exhausted": Failure.VALIDATION,
    "limit_reached": Failure.VALIDATION,
    "timed_out": Failure.VALIDATION,
    "thrash_stopped": Failure.VALIDATION,
}
"""Which failure the word is that a run ended with; every other word is none that the rules know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What the build does now."""

    start: tuple[str, ...] = ()
    """Ids of tasks to start."""
    again: tuple[tuple[str, str], ...] = ()
    """Tasks to be tried again, with the reason."""
    skip: tuple[tuple[str, str], ...] = ()
    escalate: tuple[tuple[str, str], ...] = ()
    lost: tuple[tuple[str, str], ...] = ()
    """Tasks that the database calls running and that nothing runs."""
    halt: Halt | None = None
    done: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values, as the workflow keeps them."""
        return {**asdict(self), "halt": None if self.halt is None else self.halt.to_json()}


def wait_for_work(
    room: Room,
    id: str,
    engine: Engine,
    must_stop: Callable[[], bool],
    look: Callable[[BuildRow, Sequence[TaskRow]], object],
) -> dict[str, Any]:
    """Wait until something can be done, and say what. `look` is called now and then while tasks run.

    A database that does not answer is raised, never taken for "nothing to do"; the caller is patient.
    """
    looked = renewed = time.monotonic()
    worked = WorkingTime(room.database)
    while not must_stop():
        with room.database.reading() as connection:
            build, rows = build_row(connection, id), tasks_of(connection, id)
        following = next_of(room, build, rows, worked.seconds(build, rows))
        if following is not None:
            worked.save(build)
            return following.to_json()
        moment, running = time.monotonic(), [row for row in rows if row.running]
        if moment - looked > LOOK_SECONDS:
            looked = moment
            if lost := _lost(room, engine, running):
                return Next(lost=lost).to_json()
            if len(running) > 1:
                look(build, running)
        if moment - renewed > RENEW_SECONDS:
            renewed = moment
            keep_alive(room, running)
        time.sleep(POLL_SECONDS)
    return Next().to_json()


def next_of(room: Room, build: BuildRow, rows: Sequence[TaskRow], seconds: float) -> Next | None:
    """What can be done now; None when there is nothing but waiting. `seconds` is how long the build has worked."""
    running = [row for row in rows if row.running]
    if build.wanted == "stop":
        return Next(halt=why_stop(_progress(build, rows, seconds)))
    decided = _after_failures(rows, build)
    if decided is not None:
        return decided
    settings = build.settings
    progress = _progress(build, rows, seconds)
    halt = why_stop(progress, max_failed=settings.max_failed, max_seconds=settings.max_seconds)
    if halt is not None:
        # A pause lets what runs come to its end; every other reason ends it, which the caller does.
        return None if halt.reason is StopReason.PAUSED and running else Next(halt=halt)
    pending = sorted(
        (row for row in rows if row.task.status == "pending"), key=lambda row: -row.task.priority
    )  # stable: the order of the plan among equals
    blocked = {row.id: row.task.id for row in rows if row.task.status == "blocked"}
    if not pending and not running and not blocked:
        return Next(done=True)
    # Who waits for a person works on nothing, so another task may have its place.
    free = settings.parallel - sum(row.state is not State.QUESTION for row in running)
    following, waits = _startable(room, build, rows, pending, free)
    if following is not None or running:
        return following
    if waits:
        return None  # for another build's lease, or for the end of an outage
    if blocked:
        detail = f"{', '.join(blocked.values())}: a person must decide."
        return Next(halt=Halt(reason=StopReason.ESCALATED, detail=detail, waiting=tuple(blocked)))
    open_ones = ", ".join(row.task.id for row in pending)
    return Next(halt=Halt(reason=StopReason.NOTHING_READY, detail=f"{open_ones}: the file belongs to somebody else."))


def decision_for(row: TaskRow, *, may_install: bool) -> FailureDecision:
    """The decision about a task whose run failed."""
    ended = row.ended
    kind = Failure.OTHER if ended.get("how") == "escalate" else _KINDS.get(str(ended.get("reason")), Failure.OTHER)
    detail = str(ended.get("detail") or "")
    outages = max(0, row.outages - 1)  # the last one is what is decided about
    decision = decide_failure(kind, attempts=max(1, row.tries), detail=detail, may_install=may_install, outages=outages)
    if ended.get("final") and decision.then == "retry":
        return FailureDecision(then="skip", failure=decision.failure, why=decision.why)
    return decision


def _progress(build: BuildRow, rows: Sequence[TaskRow], seconds: float) -> Progress:
    undecided = [row for row in rows if row.undecided]
    kinds = {decision_for(row, may_install=False).failure: row for row in undecided}
    broken = kinds.get(Failure.ENVIRONMENT)
    words = "" if broken is None else str(broken.ended.get("detail", "")).strip().partition("\n")[0]
    return Progress(
        tasks=[row.task for row in rows if row not in undecided],
        seconds=seconds,
        stop_requested=build.wanted == "stop",
        pause_requested=build.wanted == "pause",
        over_budget=Failure.BUDGET in kinds,
        environment="" if broken is None else f"{broken.task.id}: {words}",
    )


def _startable(
    room: Room, build: BuildRow, rows: Sequence[TaskRow], pending: Sequence[TaskRow], free: int
) -> tuple[Next | None, bool]:
    """Tasks that may run now, their files leased, or those that never will; and whether one waits for something that
    comes by itself: a lease, or the end of an outage."""
    statuses = {row.task.id: row.task.status for row in rows}
    with room.database.reading() as connection:
        files = standing_in(connection, pending)
    start: list[str] = []
    never: list[tuple[str, str]] = []
    waits = False
    for row in pending:
        ready = readiness(row.task, statuses, us=build.id, owners=files.owners, holders=files.holders)
        if ready.why == "never":
            never.append((row.id, f"It {ready}."))
        elif ready.ready and row.rests_until is not None and row.rests_until > now():
            waits = True
        elif ready.ready and len(start) < free and take(room, row):
            start.append(row.id)
        elif ready.why == "leased":
            waits = True
            if row.holder not in files.waiting:
                take(room, row)  # refused, which is recorded as a wait
    if never:
        return Next(skip=tuple(never), start=tuple(start)), waits
    return (Next(start=tuple(start)) if start else None), waits


def _after_failures(rows: Sequence[TaskRow], build: BuildRow) -> Next | None:
    """What follows from runs that failed and were not dealt with yet."""
    found: dict[str, list[tuple[str, str]]] = {"again": [], "skip": [], "escalate": []}
    for row in rows:
        if not row.undecided:
            continue
        if row.ended.get("how") == "stopped":
            found["escalate"].append((row.id, "A person stopped its agent."))
            continue
        decision = decision_for(row, may_install=build.settings.may_install)
        match decision.then:
            case "retry" | "rebase" | "install" | "back_off":
                found["again"].append((row.id, decision.why))
            case "skip" | "escalate":
                found[decision.then].append((row.id, decision.why))
            case "stop_build":
                pass  # seen by `why_stop`
    if not any(found.values()):
        return None
    return Next(again=tuple(found["again"]), skip=tuple(found["skip"]), escalate=tuple(found["escalate"]))


def _lost(room: Room, engine: Engine, running: Sequence[TaskRow]) -> tuple[tuple[str, str], ...]:
    """Running tasks whose workflow has ended without ending them."""
    jobs = {row.id: engine.status(row.job) for row in running}
    ended = {id: job for id, job in jobs.items() if job is not None and job.state.ended}
    if not ended:
        return ()
    with room.database.reading() as connection:
        # The workflow ends after the row does: only who is still called running now is lost.
        still = {row.id: row for row in tasks_of(connection, running[0].build_id) if row.running}
    return tuple(
        (id, f"What ran it has ended half-way: {job.error or job.state}")
        for id, job in ended.items()
        if id in still and still[id].job == job.id
    )
