"""What did a dead process leave half-way? Looked for at every start: each build goes on, or has failed with a reason.

The engine goes on with its workflows by itself; this finds builds whose rows say that they run and that nothing runs.
An error of the database is raised: what cannot be read is not "no work".
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.engine.port import Engine
from touchline.roles.build.building import QUEUE, WORKFLOW
from touchline.roles.build.ending import halted, stop_tasks
from touchline.roles.build.rows import BuildRow, build_row, list_builds
from touchline.roles.build.stopping import StopReason
from touchline.sessions.room import Room

_MANY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledBuilds:
    """What was found and done."""

    started: tuple[str, ...] = ()
    """Builds whose workflow had never reached the engine."""
    failed: tuple[str, ...] = ()
    """Builds whose workflow had ended without ending them."""


def reconcile_builds(engine: Engine, room: Room) -> ReconciledBuilds:
    """Put in order what is not; safe to be called by several processes, and again."""
    with room.database.reading() as connection:
        open_ones = list_builds(connection, statuses=("requested", "primed", "running"), limit=_MANY)
    started, failed = [], []
    for build in open_ones:
        job = engine.status(build.job)
        if job is None:
            # Started or resumed by somebody who died before the engine knew of it.
            engine.start(WORKFLOW, [build.id], id=build.job, queue=QUEUE)
            started.append(build.id)
        elif job.state.ended and _lost(engine, room, build, job.error or str(job.state)):
            failed.append(build.id)
    return ReconciledBuilds(started=tuple(started), failed=tuple(failed))


def _lost(engine: Engine, room: Room, build: BuildRow, why: str) -> bool:
    """The row, not our look at it some time ago, says whether it is still open."""
    with room.database.reading() as connection:
        current = build_row(connection, build.id)
    if current.ended or current.runs != build.runs:
        return False
    stop_tasks(room, engine, build.id)
    with room.database.writing() as connection:
        halted(connection, build.id, {"reason": StopReason.LOST, "detail": f"It ended half-way: {why}"})
    return True
