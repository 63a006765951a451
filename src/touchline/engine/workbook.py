"""Which workflows, queues and ticks are there? Filled in by the rooms above at import; costs nothing until run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from touchline.errors import EngineError

DEFAULT_QUEUE = "work"
BEGINNINGS = 100
"""A workflow begun so often without an end is put aside: something in it kills whoever runs it."""
Body = TypeVar("Body", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A registered workflow. The name is what is stored: a function may be renamed, a name may not."""

    name: str
    body: Callable[..., Any]
    queue: str
    beginnings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue and how many of its jobs one process runs at a time (None: as many as come)."""

    name: str
    slots: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A workflow started by the clock, once per tick however many processes there are; missed ticks are not made up."""

    name: str
    cron: str
    workflow: str


@dataclass(slots=True)
class Workbook:
    """All that a process knows how to run."""

    workflows: dict[str, Workflow] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    ticks: dict[str, Tick] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.queues.setdefault(DEFAULT_QUEUE, Queue(name=DEFAULT_QUEUE, slots=None))

    def workflow(
        self, name: str, *, queue: str = DEFAULT_QUEUE, beginnings: int = BEGINNINGS
    ) -> Callable[[Body], Body]:
        """Register `body(flow, *args)` under a name; `queue` is where it goes unless `start` says otherwise."""

        def register(body: Body) -> Body:
            if name in self.workflows and self.workflows[name].body is not body:
                raise EngineError(f"Two workflows are named {name!r}.", hint="Names are stored: give each its own.")
            self.workflows[name] = Workflow(name=name, body=body, queue=queue, beginnings=beginnings)
            return body

        return register

    def queue(self, name: str, *, slots: int | None = None) -> Queue:
        """Declare a queue. A process may be started with another number of slots."""
        if not re.fullmatch(r"[a-z][a-z0-9_.-]{0,60}", name):
            raise EngineError(f"{name!r} is no name for a queue.", hint="Lower case letters, digits, dots, dashes.")
        if slots is not None and slots < 1:
            raise EngineError(f"A queue needs at least one slot, not {slots}.")
        self.queues[name] = Queue(name=name, slots=slots)
        return self.queues[name]

    def every(self, name: str, when: str | int, workflow: str) -> Tick:
        """Start `workflow` by a cron line (five fields, or six with seconds first) or every so many seconds.

        Its body is called with the time of the tick (a `datetime`, UTC)."""
        self.ticks[name] = Tick(name=name, cron=when if isinstance(when, str) else cron_of(when), workflow=workflow)
        return self.ticks[name]

    def checked(self) -> Workbook:
        """Raises when something refers to what is not there."""
        for workflow in self.workflows.values():
            if workflow.queue not in self.queues:
                raise EngineError(f"Workflow {workflow.name!r} goes to the queue {workflow.queue!r}, which is unknown.")
        for tick in self.ticks.values():
            if tick.workflow not in self.workflows:
                raise EngineError(f"Tick {tick.name!r} starts the workflow {tick.workflow!r}, which is unknown.")
        return self


def cron_of(seconds: int) -> str:
    """A cron line (seconds first) that fires every so many seconds; only what a clock face can show evenly."""
    if 0 < seconds < 60 and 60 % seconds == 0:
        return f"*/{seconds} * * * * *"
    minutes, rest = divmod(seconds, 60)
    if rest == 0 and 0 < minutes < 60 and 60 % minutes == 0:
        return f"0 */{minutes} * * * *"
    hours, rest = divmod(minutes, 60)
    if seconds % 3600 == 0 and 0 < hours <= 24 and 24 % hours == 0:
        return f"0 0 */{hours} * * *" if hours < 24 else "0 0 0 * * *"
    raise EngineError(f"No clock ticks evenly every {seconds} s.", hint="Take a divisor of 60 s, 60 min or 24 h.")


BOOK = Workbook()
"""Touchline's own: what `touchline worker` runs. Rooms above add to it when they are imported."""
