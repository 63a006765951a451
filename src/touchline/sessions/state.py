"""What does a session carry from turn to turn? One JSON value in its row, written with every decision.

order       the next turn: its number, kind, words, and the CLI's session it goes on with
work        the counters of `supervision.situation.Work`
watch       all that the loop watch remembers
thrash      the loop that was going on when the last turn ended
reminded    the loop the agent was last told of in mid-turn
planning_at the call after which a planner was last reminded
pending     reminders that could not be spoken in mid-turn and go with the next message
calls       calls of the session so far, Touchline's own checks among them
driver      what the driver must know of the session's last turn
nudged      the one nudge of this attempt was used
failures    broken contracts in a row
attempt     how often the task was begun anew
turns_base  turns that a reviewer has already allowed for
streak      reviews in a row that asked for changes
advised     questions in a row that were answered without a person
settled     calls up to which an accepted result, or a person, has settled the work: later edits stay open until proved
answering   the question whose answer the present workflow goes on with
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from touchline.supervision.coach import Plan
from touchline.supervision.patterns import Rule, Thrash
from touchline.supervision.phases import Phase
from touchline.supervision.situation import Work

TurnKind = Literal["first", "continue", "steer", "nudge", "retry", "review", "answer", "resume"]
_COUNTERS = ("continuations", "same_rejections", "steered", "reviewed", "provider_retries")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A turn that is to be run."""

    number: int
    kind: TurnKind
    message: str
    """What the agent is told; the first turn's and a new session's prompt is made around it."""
    fresh: bool = False
    """A new session of the CLI begins; else the known one is resumed."""
    seconds: float | None = None
    """The longest it may take, where that is less than a turn's usual limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """See the module's table."""

    order: Order | None = None
    work: Mapping[str, Any] = field(default_factory=dict)
    watch: Mapping[str, Any] | None = None
    thrash: Mapping[str, Any] | None = None
    reminded: Mapping[str, Any] | None = None
    planning_at: int | None = None
    pending: tuple[str, ...] = ()
    calls: int = 0
    driver: Mapping[str, Any] = field(default_factory=dict)
    nudged: bool = False
    failures: int = 0
    attempt: int = 1
    turns_base: int = 0
    streak: int = 0
    advised: int = 0
    settled: int = 0
    answering: str | None = None

    def to_json(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["order"] = None if self.order is None else asdict(self.order)
        values["pending"] = list(self.pending)
        return values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> State:
        known = {each.name for each in fields(cls)}
        values = {name: each for name, each in value.items() if name in known}
        if values.get("order") is not None:
            values["order"] = Order(**values["order"])
        values["pending"] = tuple(values.get("pending", ()))
        return cls(**values)


def counters_of(work: Work) -> dict[str, Any]:
    """What of `Work` changes from turn to turn; the rest is in what was asked."""
    return {**{name: getattr(work, name) for name in _COUNTERS}, "last_rejection": list(work.last_rejection)}


def work_of(
    counters: Mapping[str, Any], *, task: str, phase: Phase | None, plan: Plan | None, workflow_id: str
) -> Work:
    """The work as the next decision needs it: the second continuation knows as much as the first."""
    counted = {name: int(counters.get(name, 0)) for name in _COUNTERS}
    last = tuple(counters.get("last_rejection", ()))
    return Work(task=task, phase=phase, plan=plan, workflow_id=workflow_id, last_rejection=last, **counted)


def thrash_to_json(thrash: Thrash | None) -> dict[str, Any] | None:
    return None if thrash is None else {**asdict(thrash), "calls": list(thrash.calls)}


def thrash_from_json(value: Mapping[str, Any] | None) -> Thrash | None:
    if value is None:
        return None
    return Thrash(**{**value, "rule": Rule(value["rule"]), "calls": tuple(value["calls"])})
