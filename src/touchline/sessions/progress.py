"""Does a session still bring anything? What each of its turns spent and brought, held against the rule of wandering.

A nudge, and a turn that a provider's fault or a crash ended, are nobody's idle turns; what they changed counts with the
next one. Where somebody looked and let the agent go on, idle turns are counted anew.
"""

from __future__ import annotations

from touchline.sessions.evidence import Evidence
from touchline.sessions.raw import usage_from_json
from touchline.sessions.records import TurnRecord
from touchline.sessions.watching import BUDGET, LOOP
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, Step, steps_of
from touchline.supervision.limits import Limits
from touchline.supervision.patterns import Thrash
from touchline.supervision.sameness import call_key, does_nothing, masked_key, result_key
from touchline.supervision.stops import Kind, Stop
from touchline.supervision.thrash import Mark, find_wandering

_LOOKED = frozenset({"review", "resume"})
"""Turns that somebody ordered who knows what was done so far."""
_TOLD = _LOOKED | {"answer"}
"""Turns that begin with somebody's words, which are something new to go by."""
_WORKED = frozenset({str(Ended.FINISHED), str(Ended.LIMIT)})


def wandering_in(evidence: Evidence, stop: Stop, limits: Limits) -> Thrash | None:
    """The wandering that goes on. Who asks waits for an answer, and who is done has brought something."""
    if stop.kind in (Kind.QUESTION, Kind.BLOCKER) or (stop.kind is Kind.COMPLETION and not stop.rejected):
        return None
    if len(evidence.turns) < min(limits.idle_turns, limits.wander_turns):
        return None
    return find_wandering(marks_of(evidence), limits=limits)


def marks_of(evidence: Evidence) -> tuple[Mark, ...]:
    """One for each turn that was worked in."""
    marks: list[Mark] = []
    known: set[str] = set()
    before = Ledger()
    for heard, after in zip(evidence.turns, evidence.after, strict=True):
        turn = heard.record
        if not _worked(turn):
            continue
        news = {_news(step) for step in steps_of(list(heard.parts)) if not does_nothing(step.call)} - known - {""}
        known |= news
        while turn.kind in _LOOKED and marks and not (marks[-1].changed or marks[-1].passed):
            marks.pop()
        marks.append(
            Mark(
                tokens=sum(each.total for each in usage_from_json(turn.usage).values()),
                changed=len(after.writes) > len(before.writes) or len(after.commits) > len(before.commits),
                passed=_passes(after, before),
                learned=bool(news) or turn.kind in _TOLD,
            )
        )
        before = after
    return tuple(marks)


def _worked(turn: TurnRecord) -> bool:
    return turn.kind != "nudge" and (turn.ended in _WORKED or (turn.stopped or "").startswith((LOOP, BUDGET)))


def _news(step: Step) -> str:
    """What a call told, to be compared; empty where no answer was heard."""
    if step.result is None:
        return ""
    return f"{call_key(step.call)} {masked_key(step.result) or result_key(step.result)}"


def _passes(after: Ledger, before: Ledger) -> bool:
    """More tests pass than ever before, or the last change is verified that was not."""
    return _most(after) > _most(before) or (after.verified_after_last_edit and not before.verified_after_last_edit)


def _most(ledger: Ledger) -> int:
    return max((run.passed or 0 for run in ledger.test_runs), default=0)
