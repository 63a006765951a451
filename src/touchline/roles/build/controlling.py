"""How does a person start, pause, stop and resume a build? One word each, safe to be said twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from touchline.engine.port import Engine
from touchline.errors import BuildError
from touchline.roles.build.added import take_in_added
from touchline.roles.build.agreement import agreement_of, with_lessons
from touchline.roles.build.building import QUEUE, WORKFLOW
from touchline.roles.build.changes import create_build, run_again, update_build
from touchline.roles.build.earlier import Finished, finished_elsewhere, note_anew, planned_now
from touchline.roles.build.escalating import SKIP, fresh_start, resumed, take_answers
from touchline.roles.build.rows import BuildRow, build_row, list_builds, tasks_of
from touchline.roles.build.scheduling import decision_for
from touchline.roles.build.settings import BuildSettings
from touchline.roles.specification.keeping import SpecRow, read_files
from touchline.roles.specification.lessons import load_lessons
from touchline.store.columns import new_id
from touchline.store.database import Database
from touchline.store.tables import builds


def start_build(
    engine: Engine,
    database: Database,
    spec: SpecRow,
    *,
    repository: Path,
    settings: BuildSettings,
    id: str | None = None,
    finished: Finished = "",
) -> str:
    """Start a build of an approved specification; its id. With an `id` of the caller's, again is no second start.
    `finished` says what becomes of tasks whose work only an earlier build has; see `earlier`."""
    if spec.status != "approved":
        raise BuildError(f"The specification {spec.id} is {spec.status}, not approved.", then=f"spec approve {spec.id}")
    said, planned = read_files(spec)
    lessons = load_lessons(repository)
    id = id or new_id("build")
    with database.reading() as connection:
        elsewhere = finished_elsewhere(connection, spec.id, planned, repository, os.environ)
    with database.writing() as connection:
        if connection.execute(sa.select(builds.c.id).where(builds.c.id == id)).first() is None:
            _require_no_other(connection, spec.id)
            now = planned_now(planned, elsewhere, finished, spec)
            create_build(
                connection,
                id=id,
                spec_id=spec.id,
                repository=str(repository),
                settings=settings,
                planned=with_lessons(now, said, lessons),
                agreement=agreement_of(said),
            )
            note_anew(spec.tasks_path, planned, now)
    engine.start(WORKFLOW, [id], id=f"{id}/run-1", queue=QUEUE)
    return id


def _require_no_other(connection: sa.Connection, spec: str) -> None:
    """Two builds of one specification would do the same work twice, and write into the same tasks.md."""
    for build in list_builds(connection, statuses=("requested", "primed", "running"), limit=1000):
        if build.spec_id == spec:
            raise BuildError(
                f"The build {build.id} of this specification is {build.status}.",
                then=f"build follow {build.id}",
            )


def want(database: Database, id: str, wanted: str) -> BuildRow:
    """Ask a running build to pause or to stop. It ends within seconds; a pause lets running tasks come to their end."""
    with database.writing() as connection:
        build = build_row(connection, id)
        if build.ended:
            raise BuildError(f"The build {build.id} is {build.status}.", then=f"build resume {build.id}")
        update_build(connection, build.id, wanted=wanted)
        return build_row(connection, build.id)


def resume_build(
    engine: Engine, database: Database, id: str, *, retry: bool = True, settings: BuildSettings | None = None
) -> str:
    """Go on where it stopped; its id. With `retry`, tasks that failed or were blocked get a fresh start. `settings`
    take the place of those it had, such as a higher limit. What people answered meanwhile is carried out first, and
    tasks that they added to tasks.md are taken in."""
    with database.writing() as connection:
        build = build_row(connection, id)
        if build.status == "complete":
            raise BuildError(f"The build {build.id} is complete.", then=f"apply {build.id}")
        if not build.ended:
            raise BuildError(f"The build {build.id} is {build.status}.", then=f"build follow {build.id}")
        take_in_added(connection, build)
        changed = {} if settings is None else {"settings": settings.to_json(), "budget": settings.budget}
        taken = take_answers(connection, build.id)
        _fresh(connection, build.id, retry=retry, but=[task for task, then in taken.items() if then == SKIP])
        run = run_again(connection, build.id, by="person", **changed)
    engine.start(WORKFLOW, [build.id], id=f"{build.id}/run-{run}", queue=QUEUE)
    return build.id


def go_on_answered(engine: Engine, database: Database, id: str) -> str:
    """Go on with a build that stopped for answers which are there now; its id. Every other is left as it is."""
    with database.writing() as connection:
        build = build_row(connection, id)
        taken = take_answers(connection, build.id)
        run = resumed(connection, build.id, taken.values())
    if run:
        engine.start(WORKFLOW, [build.id], id=f"{build.id}/run-{run}", queue=QUEUE)
    return build.id


def _fresh(connection: sa.Connection, build: str, *, retry: bool, but: Sequence[str]) -> None:
    """What stopped the build and was no attempt of its task is always put back: its reason may be gone."""
    for row in tasks_of(connection, build):
        ended = row.task.status in ("failed", "blocked", "skipped") and row.id not in but
        if ended and (retry or (row.undecided and decision_for(row, may_install=False).then == "stop_build")):
            fresh_start(connection, row.id, why="resumed")
