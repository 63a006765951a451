"""Does the agent go in circles? One watch over the calls of a task, fed call by call.

Universal signals only: what is the same, what failed, what told nothing new. The watch keeps a bounded memory that
fits into plain JSON. Replays of whole sessions are in `thrash`, what to do about a finding is in `steering`.
"""

from __future__ import annotations

from collections import deque

from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.patterns import Grade, Rule, Thrash, found
from touchline.supervision.sameness import (
    call_key,
    digest,
    first_line,
    is_telling,
    masked_key,
    polling_tools,
    result_key,
    shorten,
)
from touchline.supervision.waiting import acts_outside, may_repeat, waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

BLANK = ("", "\n")
"""Answers without a word: they are news of nobody."""


class _Seen:
    """A call as the watch remembers it. `source` is only kept until its masked key is needed."""

    __slots__ = ("call", "exact", "failed", "index", "masked", "result", "source", "stale")

    def __init__(
        self,
        index: int,
        call: str,
        result: str | None,
        failed: bool,
        stale: bool = False,
        masked: str | None = None,
        exact: str | None = None,
        source: Result | None = None,
    ) -> None:
        self.index, self.call, self.result, self.failed = index, call, result, failed
        # `result` is that of an earlier call which differs in passing figures alone; `exact` is always its own.
        self.exact = result if exact is None else exact
        self.stale, self.masked, self.source = stale, masked, source

    def mask(self) -> str | None:
        if self.source is not None:
            self.masked, self.source = masked_key(self.source), None
        return self.masked


class ThrashWatch:
    """Watches one task. `before` a call that is about to run, `after` each finished one, `said` at each stop."""

    def __init__(self, *, limits: Limits = LIMITS, polling: frozenset[str] | None = None) -> None:
        self._limits = limits
        self._polling = polling_tools() if polling is None else polling
        spans = (window for _, window in (*limits.nothing_new, limits.few_distinct))
        longest = max(limits.failure_window, limits.cycle_longest * limits.cycle_repeats, *spans)
        self._last: deque[_Seen] = deque(maxlen=longest)
        self._runs = [0] * limits.cycle_longest
        """For each length k: how many calls in a row equal, with their results, the one k calls before."""
        self._equal = [0] * limits.cycle_longest
        """The same, where the results are equal to the letter: only then may a call be refused."""
        self._starts = [-1] * limits.cycle_longest
        """For each length k: the call where that run began."""
        self._known: dict[str, int] = {}
        """What was told, and at which call last; oldest first."""
        self._messages: list[tuple[str, int, int]] = []
        """Closing messages that were the same: digest, call, and how much was new by then."""
        self._news = 0
        self._waited, self._wait_began = 0, -1
        """Waiting calls since anything new was told, and the first of them."""
        self._high = -1
        """The call since which the failure rate is too high, or -1."""
        self._detail = ""
        self._next = 0
        self._key: tuple[Call, str] | None = None

    def before(self, call: Call, *, index: int | None = None) -> Thrash | None:
        """Would this call, about to run, only repeat what is known? Changes nothing."""
        last = self._last
        if not last or call.tool in self._polling or waits(call):
            return None
        key, at = self._key_of(call), self._next if index is None else index
        again = last[-1].call == key and last[-1].result is not None
        if again and self._equal[0] >= self._limits.same_result - 1:
            return self._repeat(call, at, refused=True)
        for k in range(2, self._limits.cycle_longest + 1):
            ran = self._equal[k - 1] >= k * (self._limits.cycle_repeats - 1) - 1
            if ran and len(last) >= k and last[-k].call == key:
                return self._cycle(call, at, k, refused=True)
        return None

    def after(self, step: Step) -> Thrash | None:
        """Take in a finished call. Returns the loop it completes, else the warning it gives, else None."""
        seen = self._take(step)
        if seen is None or seen.result is None:
            return self._waiting(step)
        return self._loop(step, seen) or self._warning(step, seen)

    def said(self, text: str) -> Thrash | None:
        """Take in the message with which the agent stopped."""
        words = " ".join(text.split())
        if not words:
            return None
        key, known = digest(words), self._messages
        if known and (known[-1][0] != key or (self._short(words) and known[-1][2] != self._news)):
            known.clear()
        known.append((key, self._next - 1, self._news))
        del known[: -self._limits.same_message]
        if len(known) < self._limits.same_message:
            return None
        return Thrash(
            rule=Rule.SAME_MESSAGE,
            grade="loop",
            began=known[0][1],
            at=self._next - 1,
            message=found("same_message", times=len(known)),
            detail=first_line(text),
        )

    def told(self) -> None:
        """A person said something new: what comes now may repeat for a reason. Closing messages still count."""
        self._last.clear()
        self._runs, self._equal = [0] * len(self._runs), [0] * len(self._equal)
        self._waited, self._high = 0, -1

    def _short(self, words: str) -> bool:
        return len(words) < self._limits.short_message

    def _key_of(self, call: Call) -> str:
        if self._key is None or self._key[0] is not call:
            self._key = (call, call_key(call))
        return self._key[1]

    def _take(self, step: Step) -> _Seen | None:
        """Remember a call. None for a wait that told nothing: it stands between no two calls."""
        result, index = step.result, step.index
        key = self._key_of(step.call)
        if step.call.tool in self._polling or may_repeat(step.call, result):
            if not self._wait(key, index, result) and (result is None or result.failed or not acts_outside(step.call)):
                self._next = max(self._next, index + 1)
                return None
            # News and a press are like no other call: they repeat nothing, and end what went before.
            result, key = None, f"wait {index}"
        failed = result is not None and result.failed
        seen = _Seen(index, key, None if result is None else result_key(result), failed, source=result)
        if result is not None:
            self._recognise(seen)
            self._weigh(seen, result)
            if not seen.stale:
                self._waited = 0
            self._detail = first_line(result.text) if result.failed else ""
        self._count(seen)
        self._last.append(seen)
        self._next = max(self._next, index + 1)
        return seen

    def _recognise(self, seen: _Seen) -> None:
        """A result that differs from an earlier one of the same call only in passing figures is that result."""
        others = [s for s in self._last if s.call == seen.call and s.result is not None]
        if all(s.result != seen.result for s in others):
            for other in reversed(others):
                if other.failed == seen.failed and (masked := seen.mask()) and masked == other.mask():
                    seen.result = other.result
                    return

    def _weigh(self, seen: _Seen, result: Result) -> None:
        """Was this told within memory, by the same call, or in so many words by another?"""
        keys = [f"{seen.call} {seen.result}"]
        if is_telling(result):
            keys.append(f"{seen.result}")
        seen.stale = self._is_known(keys, seen.index)
        self._news += not seen.stale

    def _wait(self, key: str, index: int, result: Result | None) -> bool:
        """Count a wait. True when it told something that no call had told."""
        if result is None:
            return False
        told = masked_key(result) or result_key(result)
        again = self._is_known([f"{key} {told}"], index)
        if not again:
            self._waited = 0
        if not self._waited:
            self._wait_began = index
        self._waited += 1
        return not self._is_known([result_key(result)], index) and not again and result.text not in BLANK

    def _is_known(self, keys: list[str], index: int) -> bool:
        """Was any of this told within memory? It is from now on."""
        known, oldest = self._known, index - self._limits.news_memory
        before = any(known.get(key, oldest - 1) >= oldest for key in keys)
        for key in keys:
            known.pop(key, None)
            known[key] = index
        while len(known) > 2 * self._limits.news_memory:
            del known[next(iter(known))]
        return before

    def _count(self, seen: _Seen) -> None:
        last, runs, equal = self._last, self._runs, self._equal
        for k in range(1, len(runs) + 1):
            before = last[-k] if seen.result is not None and len(last) >= k else None
            if before is not None and before.call == seen.call and before.result == seen.result:
                if runs[k - 1] == 0:
                    self._starts[k - 1] = before.index
                runs[k - 1] += 1
                equal[k - 1] = equal[k - 1] + 1 if before.exact == seen.exact else 0
            else:
                runs[k - 1] = equal[k - 1] = 0

    def _loop(self, step: Step, seen: _Seen) -> Thrash | None:
        limits, runs = self._limits, self._runs
        if runs[0] >= limits.same_result:
            return self._repeat(step.call, seen.index, refused=False)
        for k in range(2, len(runs) + 1):
            if runs[k - 1] >= k * (limits.cycle_repeats - 1):
                return self._cycle(step.call, seen.index, k, refused=False)
        if not seen.stale:
            return None
        distinct, window = limits.few_distinct
        if len(self._last) >= window:
            recent = list(self._last)[-window:]
            kinds = {(s.call, s.result if s.result is not None else s.index) for s in recent}
            if len(kinds) <= distinct:
                return self._window(Rule.FEW_DISTINCT, step, recent, distinct=len(kinds), window=window)
        for many, window in limits.nothing_new:
            recent = list(self._last)[-window:]
            stale = [s for s in recent if s.stale]
            if len(stale) >= many:
                return self._window(Rule.NOTHING_NEW, step, stale, stale=len(stale), window=len(recent))
        return None

    def _waiting(self, step: Step) -> Thrash | None:
        """Told once at the number itself, and again at each multiple: in between the agent may wait on."""
        times = self._waited
        if step.result is None or not times or times % self._limits.same_wait:
            return None
        return Thrash(
            rule=Rule.WAITING,
            grade="loop",
            began=self._wait_began,
            at=step.index,
            message=found("waiting", call=shorten(step.call), times=times),
            calls=(self._wait_began, step.index),
            detail=first_line(step.result.text),
        )

    def _warning(self, step: Step, seen: _Seen) -> Thrash | None:
        recent = list(self._last)[-self._limits.failure_window :]
        failed = [s for s in recent if s.failed]
        high = len(recent) >= 3 and len(failed) > self._limits.failure_rate * len(recent)
        self._high = (self._high if self._high >= 0 else failed[0].index) if high else -1
        if self._runs[0] == self._limits.same_result - 1 > 0:
            return self._repeat(step.call, seen.index, refused=False, grade="warning")
        if seen.failed and len(recent) > 1 and recent[-2].failed and recent[-2].call == seen.call:
            return Thrash(
                rule=Rule.FAILING_AGAIN,
                grade="warning",
                began=recent[-2].index,
                at=seen.index,
                message=found("failing_again", call=shorten(step.call)),
                calls=(recent[-2].index, seen.index),
                detail=self._detail,
            )
        if high and seen.failed:
            words = {"failed": len(failed), "window": len(recent)}
            return self._window(Rule.FAILURE_RATE, step, failed, grade="warning", began=self._high, **words)
        return None

    def _repeat(self, call: Call, at: int, *, refused: bool, grade: Grade = "loop") -> Thrash:
        times = (self._equal if refused else self._runs)[0] + 1
        return Thrash(
            rule=Rule.REPEAT,
            grade=grade,
            began=self._starts[0] if self._runs[0] else self._last[-1].index,
            at=at,
            refused=refused,
            message=found("repeat_refused" if refused else "repeat", call=shorten(call), times=times),
            calls=tuple(s.index for s in list(self._last)[-times:]),
            detail=self._detail,
        )

    def _cycle(self, call: Call, at: int, k: int, *, refused: bool) -> Thrash:
        length = (self._equal if refused else self._runs)[k - 1] + k
        rounds = (length + int(refused)) // k
        words = {"call": shorten(call), "length": k, "rounds": rounds}
        return Thrash(
            rule=Rule.CYCLE,
            grade="loop",
            began=self._starts[k - 1],
            at=at,
            refused=refused,
            message=found("cycle_refused" if refused else "cycle", **words),
            calls=tuple(s.index for s in list(self._last)[-length:]),
            detail=self._detail,
        )

    def _window(
        self,
        rule: Rule,
        step: Step,
        evidence: list[_Seen],
        *,
        grade: Grade = "loop",
        began: int | None = None,
        **words: int,
    ) -> Thrash:
        return Thrash(
            rule=rule,
            grade=grade,
            began=evidence[0].index if began is None else began,
            at=step.index,
            message=found(rule, call=shorten(step.call), **words),
            calls=tuple(s.index for s in evidence),
            detail=self._detail,
        )

    def to_json(self) -> dict[str, Any]:
        """All it remembers, as plain JSON values."""
        return {
            "last": [[s.index, s.call, s.result, s.failed, s.stale, s.mask(), s.exact] for s in self._last],
            "runs": list(self._runs),
            "equal": list(self._equal),
            "starts": list(self._starts),
            "known": dict(self._known),
            "messages": [list(m) for m in self._messages],
            "news": self._news,
            "waited": [self._waited, self._wait_began],
            "high": self._high,
            "detail": self._detail,
            "next": self._next,
        }

    @classmethod
    def from_json(cls, state: object, *, limits: Limits = LIMITS, polling: frozenset[str] | None = None) -> Self:
        """The watch that `to_json` described; a new one when the state cannot be read."""
        watch = cls(limits=limits, polling=polling)
        try:
            watch._restore(state)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return cls(limits=limits, polling=polling)
        return watch

    def _restore(self, state: Any) -> None:
        if not isinstance(state, dict) or {len(state["runs"]), len(state["equal"])} != {len(self._runs)}:
            raise ValueError("another form of state")
        for index, call, result, failed, stale, masked, exact in state["last"]:
            kept, own = (None if each is None else str(each) for each in (result, exact))
            mask = masked and str(masked)
            self._last.append(_Seen(int(index), str(call), kept, bool(failed), bool(stale), mask, own))
        self._runs, self._equal = ([int(n) for n in state[name]] for name in ("runs", "equal"))
        self._starts = [int(n) for n in state["starts"]]
        self._known = {str(key): int(at) for key, at in state["known"].items()}
        self._messages = [(str(key), int(at), int(news)) for key, at, news in state["messages"]]
        self._news, self._high = int(state["news"]), int(state["high"])
        self._waited, self._wait_began = (int(n) for n in state["waited"])
        self._detail, self._next = str(state["detail"]), int(state["next"])
