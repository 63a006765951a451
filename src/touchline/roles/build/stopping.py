"""Should the build go on? Asked before each task is started; every answer has its own reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from touchline.roles.specification.task import Task

MAX_FAILED = 3
MAX_SECONDS = 2 * 60 * 60.0


class StopReason(StrEnum):
    """Why a build ended before its last task; documented in the reference."""

    TOO_MANY_FAILED = "too_many_failed"
    """More than three tasks failed: something is wrong with the plan, not with a task."""
    CRITICAL_FAILED = "critical_failed"
    """A database task, or one marked critical, failed: what follows would stand on nothing."""
    TIME_LIMIT = "time_limit"
    """The build worked longer than it may, without the time that it waited for people."""
    STOP_REQUESTED = "stop_requested"
    """A person asked for it."""
    PAUSED = "paused"
    """A person paused it; `touchline build resume` goes on."""
    BUDGET = "budget"
    """The build's spending limit is reached."""
    ENVIRONMENT = "environment"
    """The machine cannot do it: disk full, no permission, a broken repository."""
    NOTHING_READY = "nothing_ready"
    """Tasks are left, and each waits for one that will not be done."""
    ESCALATED = "escalated"
    """A person must decide before anything else can run."""
    LOST = "lost"
    """What ran it ended half-way, and nothing of it runs any more; `touchline build resume` goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the decision about going on may use."""

    tasks: Sequence[Task]
    seconds: float
    stop_requested: bool = False
    pause_requested: bool = False
    over_budget: bool = False
    environment: str = ""
    """What is wrong with the machine, when something is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """The build ends here."""

    reason: StopReason
    detail: str
    waiting: tuple[str, ...] = ()
    """Ids of the tasks that a person must decide about, when it ends for those."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, as the workflow keeps them."""
        return {**asdict(self), "reason": str(self.reason)}


def why_stop(
    progress: Progress, *, max_failed: int = MAX_FAILED, max_seconds: float | None = MAX_SECONDS
) -> Halt | None:
    """The first reason to stop, or None to go on."""
    if progress.stop_requested:
        return Halt(reason=StopReason.STOP_REQUESTED, detail="A person asked to stop the build.")
    if progress.environment:
        return Halt(reason=StopReason.ENVIRONMENT, detail=progress.environment)
    failed = [task for task in progress.tasks if task.status == "failed"]
    critical = [task.id for task in failed if task.stops_build]
    if critical:
        return Halt(reason=StopReason.CRITICAL_FAILED, detail=f"{', '.join(critical)} failed, and others stand on it.")
    if len(failed) > max_failed:
        names = ", ".join(task.id for task in failed)
        return Halt(reason=StopReason.TOO_MANY_FAILED, detail=f"{len(failed)} tasks failed: {names}.")
    if progress.over_budget:
        return Halt(reason=StopReason.BUDGET, detail="The build's spending limit is reached.")
    if max_seconds is not None and progress.seconds > max_seconds:
        return Halt(
            reason=StopReason.TIME_LIMIT,
            detail=f"The build worked for {progress.seconds:.0f} s; its limit is {max_seconds:.0f} s.",
        )
    if progress.pause_requested:
        return Halt(reason=StopReason.PAUSED, detail="A person paused the build.")
    return None
