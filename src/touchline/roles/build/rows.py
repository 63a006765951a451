"""What is known of a build and its tasks? Their rows as frozen values; `changes` changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from touchline.errors import BuildError
from touchline.roles.build.failures import Failure
from touchline.roles.build.settings import BuildSettings
from touchline.roles.build.states import State
from touchline.roles.specification.task import Task, TaskAction, TaskCheck
from touchline.store.tables import builds, tasks

ENDED = frozenset({"complete", "stopped", "failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRow:
    """A build."""

    id: str
    spec_id: str | None
    status: str
    reason: str | None
    detail: str
    repository: str
    """The person's repository: it is read, and written only by `apply`."""
    workshop: str
    """The build's own repository, where finished tasks are put together; empty until it is made."""
    base_commit: str | None
    head_commit: str | None
    """The newest commit of the build's branch."""
    settings: BuildSettings
    wanted: str
    """What a person wants of it: run, pause or stop."""
    runs: int
    result: Mapping[str, Any]
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def job(self) -> str:
        return f"{self.id}/run-{self.runs}"

    @property
    def agreement(self) -> Mapping[str, str]:
        """What every task must know of the specification; see `agreement`."""
        return self.result.get("agreement") or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task of a build."""

    id: str
    build_id: str
    task: Task
    state: State
    origin: State | None
    """Where a side state leads back to."""
    reason: str | None
    attempts: int
    plan: str
    lesson: str
    """What an abandoned attempt taught; the next one is told."""
    data: Mapping[str, Any]
    """See `coder`: session ids, the newest head, checks, reviews, the commit."""

    @property
    def tries(self) -> int:
        """Attempts since the build was last resumed by a person."""
        return self.attempts - int(self.data.get("attempts_before", 0))

    @property
    def spent(self) -> bool:
        """Whether the present attempt is counted: one that found the task finished costs none."""
        return bool(self.data.get("spent") == self.data.get("session_run"))

    @property
    def attempt(self) -> int:
        """Which attempt the present one is."""
        return self.attempts if self.spent else self.attempts + 1

    @property
    def unheard(self) -> bool:
        """Whether a person said something that no work has come of yet."""
        return bool(self.data.get("advice")) and not self.data.get("heard")

    @property
    def outages(self) -> int:
        """How many of its last runs ended by something that passes by itself, one after the other."""
        before, count = int(self.data.get("runs_before", 0)), 0
        for each in reversed(self.data.get("failures", ())):
            if each["reason"] != Failure.TRANSIENT or each.get("run", 0) <= before:
                break
            count += 1
        return count

    @property
    def rests_until(self) -> datetime | None:
        """When it may be begun again, while an outage is waited out."""
        moment = self.data.get("rests_until")
        return datetime.fromisoformat(moment) if moment else None

    @property
    def holder(self) -> str:
        """Who holds this task's lease on its file."""
        return f"{self.build_id}/{self.task.id}"

    @property
    def running(self) -> bool:
        return self.task.status == "in_progress"

    @property
    def number(self) -> int:
        """Which run of the task this is, over all attempts and interruptions."""
        return int(self.data.get("number", 0))

    @property
    def job(self) -> str:
        """The workflow of its present, or last, run."""
        return f"{self.id}/attempt-{self.number}"

    @property
    def ended(self) -> Mapping[str, Any]:
        """How its last run ended when it did not end well: `how`, `reason`, `detail`, and what was `decided`."""
        return self.data.get("ended") or {}

    @property
    def undecided(self) -> bool:
        """Whether it failed just now, and the build has not said yet what follows from that."""
        return self.task.status == "failed" and not self.ended.get("decided")

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids of all sessions that worked on it."""
        return tuple(id for each in self.data.get("sessions", {}).values() for id in each)


def build_row(connection: sa.Connection, id: str = "") -> BuildRow:
    """The build with that id or the beginning of one; the newest when none is named. BuildError when there is none."""
    query = sa.select(builds).order_by(builds.c.created_at.desc(), builds.c.id.desc())
    if id:
        query = query.where(sa.or_(builds.c.id == id, builds.c.id.startswith(id, autoescape=True)))
    found = connection.execute(query.limit(2)).mappings().all()
    exact = [row for row in found if row["id"] == id]
    if not found:
        raise BuildError(f"There is no build {id!r}." if id else "There is no build yet.", then="build start")
    if id and not exact and len(found) > 1:
        raise BuildError(f"More than one build begins with {id!r}.", hint="Give more of its id.")
    return _build((exact or found)[0])


def list_builds(connection: sa.Connection, *, statuses: Sequence[str] = (), limit: int = 50) -> tuple[BuildRow, ...]:
    """Builds, newest first."""
    query = sa.select(builds).order_by(builds.c.created_at.desc(), builds.c.id.desc()).limit(limit)
    if statuses:
        query = query.where(builds.c.status.in_(list(statuses)))
    return tuple(_build(row) for row in connection.execute(query).mappings())


def tasks_of(connection: sa.Connection, build: str) -> tuple[TaskRow, ...]:
    """The tasks of a build, in their order."""
    query = sa.select(tasks).where(tasks.c.build_id == build).order_by(tasks.c.position)
    return tuple(_task(row) for row in connection.execute(query).mappings())


def task_row(connection: sa.Connection, id: str, *, lock: bool = False) -> TaskRow:
    """One task; with `lock` nobody else changes it until the transaction ends. BuildError when there is none."""
    query = sa.select(tasks).where(tasks.c.id == id)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise BuildError(f"There is no task {id!r}.", hint="See:", then="build status")
    return _task(row)


def _build(row: sa.RowMapping) -> BuildRow:
    values = {each.name: row[each.name] for each in fields(BuildRow)}
    return BuildRow(**{**values, "settings": BuildSettings.from_json(row["settings"])})


def _task(row: sa.RowMapping) -> TaskRow:
    data = row["data"]
    return TaskRow(
        id=row["id"],
        build_id=row["build_id"],
        task=Task(
            id=row["key"],
            phase=row["phase"],
            action=TaskAction(row["action"]),
            file=row["file"],
            title=row["title"],
            status=row["status"],
            requirements=tuple(row["requirements"]),
            gotchas=tuple(row["gotchas"]),
            check=TaskCheck(**row["validation"]),
            code_template=data.get("code_template", ""),
            depends_on=tuple(row["depends_on"]),
            satisfies=tuple(data.get("satisfies", ())),
            critical=bool(data.get("critical")),
            priority=row["priority"],
        ),
        state=State(row["state"]),
        origin=State(row["origin"]) if row["origin"] else None,
        reason=row["reason"],
        attempts=row["attempts"],
        plan=row["plan"],
        lesson=row["lesson"],
        data=data,
    )
