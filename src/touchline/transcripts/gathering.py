"""What has been seen of the turn so far?

The one mutable thing of the readers: it takes events in the order they were read, keeps them within bounds, and
closes into a frozen `Turn`.

Bounds: beyond `TEXT_KEPT` characters results lose all but the end of their text (never their digest) and other texts
all but their ends; beyond `EVENTS_KEPT` events the middle goes: the first `FIRST_KEPT` (the prompt, how it began) and
the latest stay. Both set `Turn.cut`.
"""

from __future__ import annotations

from touchline.digests import digest
from touchline.supervision.facts import (
    Call,
    Event,
    Fault,
    FaultKind,
    Prompt,
    Result,
    Spent,
    Text,
    Turn,
    Unread,
    Usage,
)
from touchline.transcripts.bounds import NOTE, RESULT_HEAD, RESULT_TAIL, bounded_args, cut, cut_words
from touchline.transcripts.ending import End

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any, Literal

TEXT_KEPT = 8_000_000
EVENTS_KEPT = 20_000
FIRST_KEPT = 1_000
SLACK = 5_000
UNREAD_KEPT = 1_000
"""Unusable lines noted per turn: a program that prints a gigabyte of noise needs no gigabyte of notes."""
NO_USAGE = Usage()


class Gathering:
    """An open turn."""

    def __init__(self, cli: str) -> None:
        self.cli = cli
        self.session_id: str | None = None
        self.model: str | None = None
        self.cwd: str | None = None
        self.cost_usd: float | None = None
        self.events: list[Event] = []
        self.added = 0
        self._spent: dict[str | None, list[int]] = {}
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.cut = False
        self._text = 0
        self._unread = 0

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.added += 1
        if len(self.events) > EVENTS_KEPT + SLACK:
            del self.events[FIRST_KEPT : FIRST_KEPT + SLACK]
            self.cut = True

    def seen(self, at: datetime | None) -> datetime | None:
        """Note a time stamp; the turn lasts from its earliest to its latest."""
        if at is not None:
            if self.started_at is None or at < self.started_at:
                self.started_at = at
            if self.ended_at is None or at > self.ended_at:
                self.ended_at = at
        return at

    def prompt(self, words: str, *, at: datetime | None = None, synthetic: bool = False) -> None:
        words = cut_words(words)
        self._text += len(words)
        self.add(Prompt(text=words if self._fits() else cut(words, NOTE, NOTE), synthetic=synthetic, at=at))

    def text(self, words: str, *, message_id: str | None = None, at: datetime | None = None) -> None:
        if not words:
            return
        words = cut_words(words)
        self._text += len(words)
        self.add(Text(text=words if self._fits() else cut(words, NOTE, NOTE), message_id=message_id, at=at))

    def call(self, call_id: str, tool: str, args: Any, *, at: datetime | None = None, subagent: bool = False) -> None:
        kept = bounded_args(args)
        for value in kept.values():
            self._text += len(value) if isinstance(value, str) else 64
        if not self._fits():
            kept = bounded_args(args, side=NOTE)
        self.add(Call(id=call_id, tool=tool[:NOTE] or "unknown", args=kept, at=at, subagent=subagent))

    def result(
        self,
        call_id: str,
        words: str,
        *,
        failed: bool = False,
        exit_code: int | None = None,
        at: datetime | None = None,
    ) -> None:
        whole = digest(words)
        words = cut(words, RESULT_HEAD, RESULT_TAIL)
        self._text += len(words)
        if not self._fits():
            # The end tells how it went: counts, the error.
            words = words[-NOTE:]
        self.add(
            Result(
                call_id=call_id,
                text=words,
                digest=whole,
                failed=failed or bool(exit_code),
                exit_code=exit_code,
                at=at,
            )
        )

    def spend(self, usage: Usage, model: str | None = None) -> None:
        """Count tokens, once; the caller has already taken off what was counted before."""
        if not (usage.input or usage.output or usage.cache_read or usage.cache_write):
            return
        # Sums are kept as plain numbers: this runs for every message of a log.
        sums = self._spent.get(model)
        if sums is None:
            sums = self._spent[model] = [0, 0, 0, 0]
        sums[0] += usage.input
        sums[1] += usage.output
        sums[2] += usage.cache_read
        sums[3] += usage.cache_write
        self.add(Spent(usage=usage, model=model))

    @property
    def usage(self) -> Usage:
        """All tokens counted so far."""
        return sum(map(_as_usage, self._spent.values()), NO_USAGE)

    @property
    def usage_by_model(self) -> dict[str, Usage]:
        """Tokens counted so far of each model that was named."""
        return {model: _as_usage(sums) for model, sums in self._spent.items() if model}

    def charge(self, cost: float | None) -> None:
        """Add to the turn's cost what the CLI says one step cost."""
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost

    def fault(
        self,
        kind: FaultKind,
        message: str,
        *,
        status: int | None = None,
        fatal: bool = False,
        at: datetime | None = None,
    ) -> None:
        self.add(Fault(kind=kind, message=cut(message, 1_000, 1_000), status=status, fatal=fatal, at=at))

    def unread(self, why: Literal["noise", "unknown", "torn", "too_long"], words: str) -> None:
        self.note(Unread(why=why, text=words[:NOTE]))

    def note(self, unread: Unread) -> None:
        self._unread += 1
        if self._unread <= UNREAD_KEPT:
            self.add(unread)
        else:
            self.cut = True

    def turn(self, end: End, *, exit_code: int | None = None) -> Turn:
        """The frozen turn."""
        return Turn(
            cli=self.cli,
            session_id=self.session_id,
            model=self.model,
            events=tuple(self.events),
            ended=end.ended,
            end_detail=cut(end.detail, NOTE, NOTE),
            exit_code=exit_code,
            usage=self.usage,
            usage_by_model=self.usage_by_model,
            cost_usd=None if self.cost_usd is None else round(self.cost_usd, 10),
            cwd=self.cwd,
            started_at=self.started_at,
            ended_at=self.ended_at,
            cut=self.cut,
        )

    def _fits(self) -> bool:
        if self._text <= TEXT_KEPT:
            return True
        self.cut = True
        return False


def _as_usage(sums: list[int]) -> Usage:
    return Usage(input=sums[0], output=sums[1], cache_read=sums[2], cache_write=sums[3])


def less(total: Usage, counted: Usage) -> Usage:
    """What of a total was not counted yet; never below zero."""
    return Usage(
        input=max(0, total.input - counted.input),
        output=max(0, total.output - counted.output),
        cache_read=max(0, total.cache_read - counted.cache_read),
        cache_write=max(0, total.cache_write - counted.cache_write),
    )
