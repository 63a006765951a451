"""In which order can tasks be done? Dependencies decide, phases break ties; what cannot be ordered is an error."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from touchline.errors import SpecError
from touchline.roles.specification.task import PHASES, Task


def ordered(tasks: Sequence[Task], *, file: str = "tasks.md") -> tuple[Task, ...]:
    """The tasks, each after all it depends on; ties go by phase, then priority, then the order given.

    SpecError, naming file and line, for an id used twice, an unknown dependency, or a cycle.
    """
    known = _by_id(tasks, file)
    waits = {task.id: set(task.depends_on) for task in tasks}
    for task in tasks:
        for name in task.depends_on:
            if name not in known:
                near = ", ".join(sorted(known)) or "none"
                raise SpecError(
                    f"{file}:{task.line}: {task.id} depends on {name!r}, which is no task.", hint=f"Tasks here: {near}."
                )
    place = {task.id: (_rank(task.phase), -task.priority, n) for n, task in enumerate(tasks)}
    ready = [(place[name], name) for name, on in waits.items() if not on]
    heapq.heapify(ready)
    done: list[Task] = []
    while ready:
        _, name = heapq.heappop(ready)
        done.append(known[name])
        for other, on in waits.items():
            if name in on:
                on.discard(name)
                if not on:
                    heapq.heappush(ready, (place[other], other))
    if len(done) < len(tasks):
        raise _cycle({name: on for name, on in waits.items() if on}, known, file)
    return tuple(done)


def levels(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], ...]:
    """The tasks in waves: everything in one wave could run side by side once the waves before it are done."""
    depth: dict[str, int] = {}
    for task in ordered(tasks):
        depth[task.id] = 1 + max((depth[name] for name in task.depends_on), default=-1)
    waves: dict[int, list[Task]] = {}
    for task in ordered(tasks):
        waves.setdefault(depth[task.id], []).append(task)
    return tuple(tuple(waves[n]) for n in sorted(waves))


def _rank(phase: str) -> int:
    return PHASES.index(phase) if phase in PHASES else len(PHASES)


def _by_id(tasks: Sequence[Task], file: str) -> dict[str, Task]:
    known: dict[str, Task] = {}
    for task in tasks:
        if task.id in known:
            raise SpecError(
                f"{file}:{task.line}: the id {task.id} is used twice (first in line {known[task.id].line}).",
                hint="Give each task an id of its own.",
            )
        known[task.id] = task
    return known


def _cycle(waits: Mapping[str, set[str]], known: Mapping[str, Task], file: str) -> SpecError:
    """Walk along unfinished dependencies until a task comes again: what lies between is a cycle."""
    path: list[str] = []
    name = min(waits)
    while name not in path:
        path.append(name)
        name = min(other for other in waits[name] if other in waits)
    ring = [*path[path.index(name) :], name]
    return SpecError(
        f"{file}:{known[name].line}: these tasks wait for each other: {' -> '.join(ring)}.",
        hint="Remove one of the depends_on entries.",
    )
