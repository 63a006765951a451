"""What does an audit report? The frozen values; `session` finds them, `summary` counts them.

Only what is reported is kept: texts are cut, events are gone. Everything turns into plain JSON by `as_json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from typing import Any

from touchline.supervision.facts import Usage
from touchline.supervision.words import Word


class Verdict(Word):
    """How a claimed completion stands."""

    PROVED = "proved"
    """Accepted, and at least one of its claims is proved, or its edits were run and did not fail."""
    NOTHING_TO_PROVE = "nothing_to_prove"
    """Accepted: an answer, or a turn that changed nothing and claimed nothing that a call could prove."""
    UNPROVED = "unproved"
    """Not accepted because evidence is missing, or accepted although none of its claims is proved."""
    CONTRADICTED = "contradicted"
    """Not accepted: the evidence says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFinding:
    """A claim of the final message and what the ledger shows."""

    what: str
    text: str
    """The words that claim it."""
    quote: str
    """The sentence they stand in."""
    standing: str
    because: str
    call: int | None
    """The call, counted from 0 over the session as in the ledger, that proves or contradicts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinding:
    """One call, as `--explain` lists it."""

    number: int
    """Counted from 0 over the session, as in the ledger."""
    tool: str
    summary: str
    failed: bool
    exit_code: int | None
    answered: bool
    """False when the log holds no result for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFinding:
    """A loop: where it began, and what was spent after that point."""

    turn: int
    """Number of the turn, from 1, in which it was recognised."""
    rule: str
    began: int
    """The call, counted from 0 over the session, at which it began."""
    recognised: int
    """The call at which Touchline would have acted."""
    refused: bool
    """True when the call would have been refused before it ran."""
    call: str
    """The call it began with."""
    message: str
    coaching: str
    """What the agent would have been told at that call."""
    tokens_after: int
    """Tokens spent after the call it began with, to the end of the turn."""
    cost_after_usd: float | None
    """Share of the turns' known cost, by tokens; None where a cost is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinding:
    """One turn: how it ended, what it claimed, and what Touchline would have done."""

    number: int
    """Counted from 1 in the session."""
    started_at: datetime | None
    ended_at: datetime | None
    prompt: str
    final_text: str
    ended: str
    end_detail: str
    kind: str
    confidence: float
    kind_reason: str
    claims: tuple[ClaimFinding, ...]
    hedges: tuple[str, ...]
    rejected: tuple[str, ...]
    """Why the completion is not accepted; empty when it is, or when none was claimed."""
    missing: tuple[str, ...]
    verdict: Verdict | None
    """None when the turn claimed no completion."""
    evidence: tuple[str, ...]
    """What the ledger shows after this turn, in words."""
    action: str
    reason: str
    coaching: str
    """What the coach would have said to the agent; empty when nothing."""
    notice: str
    """What a person would have been told; empty when nothing."""
    warnings: tuple[str, ...]
    """Warnings about repetition, which a reviewer sees and which stop nothing."""
    model: str | None
    first_call: int
    """What the turn's first call is counted as, when it has one."""
    calls: int
    failed_calls: int
    usage: Usage
    cost_usd: float | None
    unread: int
    """Lines of the log in this turn that could not be used."""
    cut: bool
    call_list: tuple[CallFinding, ...] = ()
    """Filled only when calls were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinding:
    """One session of one agent."""

    id: str
    agent: str
    project: str | None
    """The folder the agent worked in, where the log says."""
    path: str
    """The log file."""
    models: tuple[str, ...]
    started_at: datetime | None
    ended_at: datetime | None
    turns: tuple[TurnFinding, ...]
    loops: tuple[LoopFinding, ...]
    usage: Usage
    cost_usd: float | None
    """Sum of the known costs of its turns; None when no turn has one."""
    tokens_wasted: int
    """Tokens after a loop began, each counted once however many loops overlap."""
    cost_wasted_usd: float | None
    calls: int
    unread: int

    def verdicts(self, verdict: Verdict) -> int:
        return sum(turn.verdict is verdict for turn in self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file that could not be audited, and why."""

    path: str
    why: str
    size: int


def as_json(value: Any) -> Any:
    """Values as JSON knows them: fields by name, times in ISO 8601, enumerations by their word."""
    if isinstance(value, Usage):
        return {**_fields(value), "total": value.total}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Word):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
