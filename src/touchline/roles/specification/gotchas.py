"""Which known mistakes apply to which task? Matched by file and by action; a handful per task, the surest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from touchline.roles.specification.task import Task

PER_TASK = 5
"""More than a handful is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gotcha:
    """A mistake that was made before, and how to avoid it."""

    text: str
    pattern: str = ""
    """Files it concerns, such as `*.sql` or `src/api/*`; empty for all."""
    action: str = ""
    """The task action it concerns; empty for all."""
    confidence: float = 0.7
    source: str = ""
    """Where it comes from, for people."""


def gotchas_for(task: Task, gotchas: Iterable[Gotcha], *, at_least: float = 0.0) -> tuple[Gotcha, ...]:
    """Those that match the task's file and action: exact file first, then by confidence; no text twice."""
    fitting = [g for g in gotchas if g.confidence >= at_least and _fits(task, g)]
    fitting.sort(key=lambda g: (g.pattern != task.file, -g.confidence))
    chosen: dict[str, Gotcha] = {}
    for gotcha in fitting:
        chosen.setdefault(" ".join(gotcha.text.split()).casefold(), gotcha)
    return tuple(chosen.values())[:PER_TASK]


def _fits(task: Task, gotcha: Gotcha) -> bool:
    if gotcha.action and gotcha.action.upper() != task.action:
        return False
    name = task.file.rpartition("/")[2]
    return not gotcha.pattern or fnmatchcase(task.file, gotcha.pattern) or fnmatchcase(name, gotcha.pattern)
