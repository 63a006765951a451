"""May this task run now? If not, the first reason why, in words a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from touchline.roles.specification.task import Task, TaskStatus

Why = Literal["ready", "waits_for", "never", "owned", "leased"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether a task may run."""

    why: Why
    detail: str = ""
    """For `waits_for` and `never` the other task's id; else the owner's or the holder's name."""

    @property
    def ready(self) -> bool:
        return self.why == "ready"

    def __str__(self) -> str:
        match self.why:
            case "ready":
                return "ready"
            case "waits_for":
                return f"waits for {self.detail}"
            case "never":
                return f"needs {self.detail}, which will not be done"
            case "owned":
                return f"its file belongs to {self.detail}"
            case "leased":
                return f"its file is in use by {self.detail}"


def readiness(
    task: Task,
    statuses: Mapping[str, TaskStatus],
    *,
    us: str,
    owners: Mapping[str, str],
    holders: Mapping[str, str],
) -> Readiness:
    """The first failing reason: dependencies, then ownership of the file, then its lease."""
    for name in task.depends_on:
        status = statuses.get(name, "pending")
        if status in ("failed", "skipped"):
            return Readiness(why="never", detail=name)
        if status != "complete":
            return Readiness(why="waits_for", detail=name)
    owner = owners.get(task.file)
    if owner and owner != us:
        return Readiness(why="owned", detail=owner)
    holder = holders.get(task.file)
    if holder and holder != us and holder != f"{us}/{task.id}":
        return Readiness(why="leased", detail=holder)
    return Readiness(why="ready")
