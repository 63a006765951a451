"""Does a task thrash? Whole sessions and turns, looked at after the fact.

Calls are fed to the same watch that live sessions use (`loops`), so there is one implementation of every rule.
"""

from __future__ import annotations

from touchline.supervision.facts import Call, Prompt, Step, Text, Turn, steps_of
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.patterns import Grade, Rule, Thrash, found
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Grade",
    "Mark",
    "Rule",
    "Thrash",
    "ThrashWatch",
    "current_loop",
    "find_all",
    "find_thrash",
    "find_thrash_in",
    "find_wandering",
    "warnings_of",
]


def find_thrash(
    steps: Sequence[Step],
    *,
    final_texts: Sequence[str] = (),
    limits: Limits = LIMITS,
    polling: frozenset[str] | None = None,
) -> Thrash | None:
    """The first loop over the calls of a task, then over its closing messages; None when there is none."""
    watch = ThrashWatch(limits=limits, polling=polling)
    return next(_loops(_fed(watch, steps, final_texts)), None)


def find_thrash_in(
    turns: Turn | Sequence[Turn], *, limits: Limits = LIMITS, polling: frozenset[str] | None = None
) -> Thrash | None:
    """The first loop over the turns of a task, calls and closing messages in the order they came."""
    turns = (turns,) if isinstance(turns, Turn) else turns
    return next(_loops(_walked(ThrashWatch(limits=limits, polling=polling), turns)), None)


def current_loop(
    steps: Sequence[Step],
    *,
    final_texts: Sequence[str] = (),
    limits: Limits = LIMITS,
    polling: frozenset[str] | None = None,
) -> Thrash | None:
    """The loop that is still going on at the end: one the agent got out of by itself needs no steering."""
    watch = ThrashWatch(limits=limits, polling=polling)
    last = steps[-1].index if steps else -1
    going_on = [t for t in _loops(_fed(watch, steps, final_texts)) if t.at == last]
    return going_on[-1] if going_on else None


def find_all(
    steps: Sequence[Step],
    *,
    final_texts: Sequence[str] = (),
    limits: Limits = LIMITS,
    polling: frozenset[str] | None = None,
) -> tuple[Thrash, ...]:
    """Every finding, warnings too, each streak once: where it first showed."""
    watch = ThrashWatch(limits=limits, polling=polling)
    kept: list[Thrash] = []
    latest: dict[tuple[Rule, Grade], Thrash] = {}
    for thrash in _fed(watch, steps, final_texts):
        before = latest.get((thrash.rule, thrash.grade))
        if before is None or not _same_streak(before, thrash):
            kept.append(thrash)
        latest[thrash.rule, thrash.grade] = thrash
    return tuple(kept)


def warnings_of(
    steps: Sequence[Step], *, limits: Limits = LIMITS, polling: frozenset[str] | None = None
) -> tuple[Thrash, ...]:
    """The warnings alone, each streak once."""
    return tuple(t for t in find_all(steps, limits=limits, polling=polling) if t.grade == "warning")


class Mark(Value):
    """What a turn (or any other stretch of a task) spent and brought."""

    tokens: int
    """0 where nobody told."""
    changed: bool = False
    """A new file or a new difference to what was there."""
    passed: bool = False
    """A check passes that did not before."""
    learned: bool = False
    """Something was read that had not been read before."""


def find_wandering(marks: Sequence[Mark], *, limits: Limits = LIMITS) -> Thrash | None:
    """Does turn after turn, up to the last, bring nothing, at far more tokens than the task used to need?

    Indices are of turns. The norm is the median of the turns that brought something; without any there is no norm, and
    no verdict. Wandering that the agent got out of is none.
    """
    from statistics import median  # loads much, for this one rule

    began = next((at + 1 for at in reversed(range(len(marks))) if marks[at].changed or marks[at].passed), 0)
    norm = [mark.tokens for mark in marks[:began] if (mark.changed or mark.passed) and mark.tokens]
    spent = [mark.tokens for mark in marks[began:]]
    idle = next((n for n, mark in enumerate(reversed(marks[began:])) if mark.learned), len(spent))
    if not norm or not spent or (idle < limits.idle_turns and len(spent) < limits.wander_turns):
        return None
    rate = sum(spent) / len(spent) / median(norm)
    if rate < limits.wander_rate:
        return None
    return Thrash(
        rule=Rule.WANDERING,
        grade="loop",
        began=began,
        at=len(marks) - 1,
        message=found("wandering", turns=len(spent), rate=f"{rate:.1f}"),
        calls=tuple(range(began, len(marks))),
    )


def _fed(watch: ThrashWatch, steps: Sequence[Step], final_texts: Sequence[str]) -> Iterator[Thrash]:
    for step in steps:
        yield from _seen(watch, step)
    for text in final_texts:
        if thrash := watch.said(text):
            yield thrash


def _walked(watch: ThrashWatch, turns: Sequence[Turn]) -> Iterator[Thrash]:
    """A text that no call follows before the next prompt or the end is a closing message."""
    count = 0
    for turn in turns:
        steps = iter(steps_of(turn, first=count))
        seen: set[str] = set()
        words: list[str] = []
        for event in turn.events:
            if isinstance(event, Call):
                words.clear()
                if event.id not in seen:
                    seen.add(event.id)
                    count += 1
                    yield from _seen(watch, next(steps))
            elif isinstance(event, Text):
                words.append(event.text)
            elif isinstance(event, Prompt):
                yield from _close(watch, words)
        yield from _close(watch, words)


def _close(watch: ThrashWatch, words: list[str]) -> Iterator[Thrash]:
    thrash = watch.said("\n".join(words))
    words.clear()
    if thrash:
        yield thrash


def _seen(watch: ThrashWatch, step: Step) -> Iterator[Thrash]:
    if thrash := watch.before(step.call, index=step.index):
        yield thrash
    if thrash := watch.after(step):
        yield thrash


def _loops(findings: Iterator[Thrash]) -> Iterator[Thrash]:
    return (thrash for thrash in findings if thrash.grade == "loop")


def _same_streak(before: Thrash, now: Thrash) -> bool:
    return before.began == now.began or now.began <= before.at
