"""What does Touchline ask of a durable engine? Its vocabulary and its two contracts; no engine is named here.

`Engine` is what programs see: start work, look at it, stop it. `Flow` is what a workflow sees of itself while it
runs. What a workflow *is* stands in `workbook`; the one implementation is in the files named `dbos_*`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, TypeVar, overload

T = TypeVar("T")
DEFAULT_PRIORITY = 100


class State(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"  # for its time, or for an answer; holds no slot
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXHAUSTED = "exhausted"  # begun too often without reaching an end: something in it kills its worker

    @property
    def ended(self) -> bool:
        return self not in (State.WAITING, State.QUEUED, State.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One workflow that was started, as the engine knows it."""

    id: str
    workflow: str
    """The name it is registered under."""
    state: State
    queue: str | None
    priority: int
    """Smaller goes first."""
    executor: str | None
    """Which process runs it, or ran it last."""
    attempts: int
    """How often a worker began it."""
    created_at: datetime
    updated_at: datetime
    due_at: datetime | None
    """When a waiting job runs at the latest."""
    error: str
    """Why it failed; empty otherwise."""


class Engine(Protocol):
    """Durable work: what was started ends, whatever dies in between.

    Arguments, results and messages are JSON values (no objects, no secrets: they are stored in clear). Calls return
    when the change is on disk. Every call may raise `EngineError`; a lost PostgreSQL connection is waited out.
    A step runs at least once, and once only when nothing dies between its end and the record of it; what must happen
    exactly once goes into `Flow.transaction`.
    """

    @property
    def drives(self) -> bool:
        """Whether this process runs workflows. When not, it can start, inspect, cancel and answer all the same."""
        ...

    def start(
        self,
        workflow: str,
        args: Sequence[Any] = (),
        *,
        id: str,
        queue: str | None = None,
        priority: int | None = None,
        delay: float | None = None,
    ) -> str:
        """Put a workflow into its queue. A second start with the same id changes nothing, whatever its arguments.

        `delay` in seconds: a timer that costs no thread and no slot and survives restarts (granularity 1 s).
        """
        ...

    def status(self, id: str) -> Job | None:
        """The job, or None when no such id was ever started."""
        ...

    def result(self, id: str, timeout: float) -> Any:
        """Wait for the end. Raises `EngineError` when it failed, was cancelled, is unknown, or the time is over."""
        ...

    def list(
        self,
        *,
        states: Sequence[State] = (),
        workflow: str | None = None,
        queue: str | None = None,
        prefix: str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        """Jobs, newest first."""
        ...

    def cancel(self, id: str) -> None:
        """Stop a job: at once while it waits or is queued; when it runs, before its next step (an asynchronous step is
        interrupted, a synchronous one sees `Flow.must_stop`). Ended jobs stay as they are."""
        ...

    def resume(self, id: str) -> None:
        """Let a cancelled or exhausted job go on after its last recorded step. Ended otherwise: no effect."""
        ...

    def send(self, id: str, topic: str, value: Any, *, key: str | None = None) -> None:
        """A message to a job, kept until it is received. The same `key` is delivered once. Unknown id: EngineError."""
        ...

    def park(
        self,
        key: str,
        *,
        then: str,
        args: Sequence[Any] = (),
        deadline: datetime | None,
        queue: str | None = None,
        priority: int | None = None,
    ) -> str:
        """Wait until answered or until the deadline, for days if need be, without a thread or a slot.

        The caller ends its workflow; the rest of the work is the workflow `then`, which runs once: when `answer` is
        called for the key, or at the deadline (None: never by itself). It learns which by `Flow.answer`. Park first,
        then show the question, so that no answer can come before. Idempotent by key.
        """
        ...

    def answer(self, key: str, value: Any) -> bool:
        """Wake what was parked under the key. False when nothing waits there any more. The first answer counts.

        Safe to repeat after a crash, and to be repeated when it did not return: else it may take effect at the
        deadline only. An answer that meets the deadline may find that the default was just taken: the row of the
        question decides (`update ... where status = 'open'`), the engine only wakes."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove what ended before that time, with its records; how many jobs."""
        ...

    def close(self, *, grace: float = 0.0) -> int:
        """Take no new work, let what runs go on for `grace` seconds; how many workflows were still running then.

        They are not lost: the next process goes on with them. With any left, end the process without delay."""
        ...


class Flow(Protocol):
    """A running workflow's view of itself. A workflow is replayed after a crash: between two steps it must do the same
    with the same recorded results (no clock, no chance, no reading of files or tables outside of steps)."""

    @property
    def id(self) -> str: ...

    @property
    def executor(self) -> str:
        """The process that runs this now. Another one after a takeover: use it in steps, not to decide between them."""
        ...

    @property
    def engine(self) -> Engine:
        """For starting and answering others from inside: `start`, `park`, `answer` and `send` with a `key` are
        idempotent, so they need no step of their own."""
        ...

    @overload
    def step(self, name: str, work: Callable[..., Coroutine[Any, Any, T]], *args: Any, tries: int = 1) -> T: ...
    @overload
    def step(self, name: str, work: Callable[..., T], *args: Any, tries: int = 1) -> T: ...
    def step(self, name: str, work: Callable[..., Any], *args: Any, tries: int = 1) -> Any:
        """Do a piece of work once it is known to be needed, and record what it returned (a small JSON value).

        On replay the record is used. An exception is recorded too, after `tries` attempts, and raised.
        `work` may be a coroutine function; it runs on the one event loop of the process and is interrupted by cancel.
        """
        ...

    def transaction(self, name: str, work: Callable[..., T], *args: Any) -> T:
        """`work(connection, *args)` in one transaction of our own database, exactly once: its result is kept in that
        same transaction, so that a crash before the engine's record does not do it twice. A database that is away
        for a while is waited for."""
        ...

    def sleep(self, seconds: float) -> None:
        """Durable, and holding the slot. For more than minutes use `Engine.park` or a `delay`."""
        ...

    def receive(self, topic: str, timeout: float) -> Any:
        """The next message, or None after `timeout` seconds (counted from the first call, over restarts). Holds the
        slot."""
        ...

    def answer(self) -> Any:
        """In a workflow that was parked: what was answered, or None when the deadline came first."""
        ...

    def changed(self, name: str) -> bool:
        """For changing a workflow that may be half done somewhere: False in runs that recorded a step beyond this
        place before the change.

        `if flow.changed("ask-before-merge"): flow.step(...)`. The name stays for as long as such runs may exist."""
        ...

    def must_stop(self) -> bool:
        """Inside a long synchronous step: whether to give up, because the job was cancelled or is another's now."""
        ...


WhenDead = Callable[[str], object]
"""Called with the name of an executor found dead, after its work was moved: give back what it held. It may be called
twice for one executor when the caller dies too, and for one that held nothing."""
