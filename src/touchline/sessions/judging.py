"""What is to be done about this stop? Gathers the facts of the turn, runs the declared check, and asks `decide`, once.

Everything that is not a fact of the machine is decided in `supervision`; here the facts are put together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from touchline.models.booking import book
from touchline.sessions.checks import CheckRun, with_check
from touchline.sessions.delivering import was_delivered
from touchline.sessions.evidence import Evidence, evidence_of, shown
from touchline.sessions.own_check import own_check
from touchline.sessions.plans import plan_of
from touchline.sessions.progress import wandering_in
from touchline.sessions.reading import Judge, judge_for
from touchline.sessions.records import SessionRecord, TurnRecord, session_record, turns_of_session
from touchline.sessions.reporting import Reported, reported_by
from touchline.sessions.reviewing import may_review
from touchline.sessions.room import Room
from touchline.sessions.spending import spending_of
from touchline.sessions.state import counters_of, thrash_from_json, work_of
from touchline.sessions.texts import text
from touchline.sessions.watching import BUDGET, LOOP
from touchline.supervision.budgets import unknown_cost
from touchline.supervision.contract import Content, ContractCheck
from touchline.supervision.decide import decide
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, steps_of
from touchline.supervision.limits import Limits
from touchline.supervision.patterns import Thrash
from touchline.supervision.phases import missing_evidence
from touchline.supervision.situation import Action, Decision, Situation
from touchline.supervision.steering import pattern_report, reminder
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind, Stop

COST_UNKNOWN = "cost_unknown"
"""Money is limited and the CLI does not tell what it spends: going on would be spending in silence."""
_OF_DEEDS = frozenset({"hedged_only", "no_proof_shown"})
"""Why words alone are no completion, which is not asked of who may only read and plan."""
_GOES_ON = frozenset({Action.CONTINUE, Action.STEER, Action.NUDGE, Action.RETRY, Action.REVIEW})


_CLASSIFYING = threading.Lock()
"""One at a time: it is all computing, and the first one compiles the patterns that every other would compile, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A decision as the workflow keeps it: plain values."""

    action: str
    reason: str
    message: str = ""
    delivery: str | None = None
    tier: str | None = None
    """Of the coaching, where there is some."""
    rule: str | None = None
    """By which a loop was found, where there is one."""
    missing: tuple[str, ...] = ()
    fresh: bool = False
    """A retry begins a new session of the CLI."""
    delay_seconds: float = 0.0
    seconds_allowed: float | None = None
    work: dict[str, Any] = field(default_factory=dict)
    stop_kind: str | None = None
    note: str = ""
    failures: int = 0
    """Broken contracts in a row, this one included."""
    nudged: bool = False
    calls: int = 0
    final_text: str = ""
    recovered_by: str = ""
    values: dict[str, str] = field(default_factory=dict)
    """What the contract's tokens came to."""
    evidence: dict[str, Any] = field(default_factory=dict)
    analysis: str = ""
    """For a reviewer: the pattern analysis of the calls."""
    changes: dict[str, Any] = field(default_factory=dict)
    """The work as it was taken before the check ran; empty where none did."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "missing": list(self.missing)}


def judge(room: Room, id: str, number: int, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """Judge the stop of turn `number`. Done again it gives the same, but for a check that runs again.

    Returns `{"end": "stopped"}` when the session was to stop while its check ran.
    """
    with room.database.reading() as connection:
        session = session_record(connection, id)
        turns = tuple(turn for turn in turns_of_session(connection, id) if turn.number <= number)
        delivered = was_delivered(connection, session, number)
    driver, limits = room.driver(session.agent), room.limits
    work_turn = next(turn for turn in reversed(turns) if turn.kind != "nudge" or turn.number == 1)
    evidence = evidence_of(driver, session, room.of(id), turns, judged=work_turn.number)
    if session.asked.read_only:
        # Who may change nothing is not blamed for it.
        evidence = replace(evidence, ledger=replace(evidence.ledger, watched=False))
    ended = _ended(turns[-1], session, turns)
    reported = reported_by(session, evidence, limits=limits)
    if turns[-1].kind == "nudge" and ended is not Ended.LIMIT:
        ended = reported.turn.ended  # a nudge that failed changes nothing about the turn before it
    stop = _stop(session, reported, evidence.ledger, evidence.first_call, ended, turns[-1], check=None, limits=limits)
    ledger, check, taken = evidence.ledger, None, dict[str, Any]()
    checked = session.asked.check and _claims_completion(stop, reported.check)
    reader: Judge | None = None
    if stop.confidence < limits.sure and not checked and not delivered:
        reader = judge_for(session, room.env, shown(ledger, stop, None))
        stop = _stop(
            session, reported, ledger, evidence.first_call, ended, turns[-1], check=None, judge=reader, limits=limits
        )
        if reader is not None and reader.answers:
            with room.database.writing() as connection:
                book(connection, reader.answers, session_id=id)
    if session.asked.check and _claims_completion(stop, reported.check) and not delivered:
        check, taken = own_check(room, session, turns[-1], driver, ledger, must_stop)
        if check.how == "stopped":
            # Nothing was found out, so nothing is held against the agent.
            return {"end": "stopped"}
        ledger = with_check(ledger, check)
        stop = _stop(
            session, reported, ledger, evidence.first_call, ended, turns[-1], check=check, judge=reader, limits=limits
        )
    wandering = wandering_in(evidence, stop, limits)
    situation = _situation(session, turns, reported, stop, ledger, ended, delivered=delivered, wandering=wandering)
    decision = _not_in_silence(_with_output(decide(situation, limits=limits), check), situation)
    judged = _judged(decision, situation, reported, check, session, evidence, limits=limits)
    return replace(judged, changes=taken).to_json()


def _ended(turn: TurnRecord, session: SessionRecord, turns: Sequence[TurnRecord]) -> Ended:
    """A turn that Touchline ended for a reason of its own has not failed: the reason is what is decided about."""
    stopped = turn.stopped or ""
    if stopped.startswith(LOOP):
        return Ended.FINISHED
    if stopped.startswith(BUDGET):
        return Ended.LIMIT
    seconds = session.asked.seconds
    if turn.ended == Ended.TIMED_OUT and seconds is not None and spending_of(turns).seconds >= seconds:
        return Ended.LIMIT
    return Ended(turn.ended or Ended.UNKNOWN)


def _stop(
    session: SessionRecord,
    reported: Reported,
    ledger: Ledger,
    first_call: int,
    ended: Ended,
    last: TurnRecord,
    *,
    check: CheckRun | None,
    limits: Limits,
    judge: Judge | None = None,
) -> Stop:
    if (last.stopped or "").startswith(LOOP):
        return Stop(kind=Kind.STATUS, confidence=1.0, reason="stopped_at_loop")
    phase = session.asked.in_phase
    missing = missing_evidence(phase, ledger) if phase is not None else ()
    if check is not None and not check.verified:
        missing = (*missing, check.missing())
    # A model is asked without holding others up: by then the patterns are compiled.
    with nullcontext() if judge is not None else _CLASSIFYING:
        stop = classify(
            reported.text,
            ledger=ledger,
            ended=ended,
            task=session.asked.task,
            phase_missing=missing,
            first_call=first_call,
            open_since=session.state.settled,
            judge=judge,
            limits=limits,
        )
    if session.asked.read_only and reported.check is not None and reported.check.content is Content.COMPLETE:
        # A plan is words: it hopes, and has run nothing. What it says of the past is held against the record as ever.
        rejected = tuple(each for each in stop.rejected if each not in _OF_DEEDS)
        stop = replace(stop, rejected=rejected, missing=stop.missing if rejected else ())
    if check is None:
        return stop
    if not check.verified and stop.kind is Kind.STATUS:
        # The contract says that it is complete, whatever the prose sounds like; the check says that it is not.
        stop = replace(
            stop, kind=Kind.COMPLETION, rejected=("phase_evidence_missing",), missing=missing, lacking=missing
        )
    # A check of our own ranks above words that can be read in more than one way.
    return replace(stop, confidence=1.0)


def _claims_completion(stop: Stop, check: ContractCheck | None) -> bool:
    declared = check is not None and check.content is Content.COMPLETE and stop.kind is Kind.STATUS
    broken = check is not None and check.content is not Content.COMPLETE
    return not broken and (declared or stop.kind is Kind.COMPLETION)


def _situation(
    session: SessionRecord,
    turns: Sequence[TurnRecord],
    reported: Reported,
    stop: Stop,
    ledger: Ledger,
    ended: Ended,
    *,
    delivered: bool,
    wandering: Thrash | None,
) -> Situation:
    asked, state = session.asked, session.state
    thrash = thrash_from_json(state.thrash) or wandering
    work = work_of(state.work, task=asked.task, phase=asked.in_phase, plan=plan_of(session), workflow_id=session.job)
    told = thrash_from_json(state.reminded)
    if thrash is not None and told is not None and reminder(thrash, reminded=told) is None:
        # It was told in mid-turn and went on: the next rung is not to tell it again.
        work = replace(work, steered=max(1, work.steered))
    spending = spending_of(turns, base=state.turns_base, failures=reported.failures)
    return Situation(
        stop=stop,
        ended=ended,
        fault=reported.turn.fault,
        ledger=ledger,
        delivered=delivered,
        budget=asked.budget,
        spending=spending,
        reviewer=may_review(asked.reviewer, asked.budget, spending),
        contract=reported.check,
        recovery=reported.recovery,
        thrash=thrash,
        work=work,
    )


def _with_output(decision: Decision, check: CheckRun | None) -> Decision:
    """What our own run of the check printed is known to us alone: an agent that is sent back for it is told."""
    if decision.action is not Action.CONTINUE or decision.coaching is None or check is None or check.verified:
        return decision
    if not (printed := check.end_of_output()):
        return decision
    message = f"{decision.message}\n\n{text('check_output', command=check.command, output=printed)}"
    return replace(decision, message=message, coaching=replace(decision.coaching, text=message))


def _not_in_silence(decision: Decision, situation: Situation) -> Decision:
    if decision.action not in _GOES_ON or not unknown_cost(situation.budget, situation.spending):
        return decision
    words = (
        f"Money is limited to {situation.budget.usd:g} USD, but the agent does not tell what it spends, so it was not "
        f"continued. Open: {decision.message or decision.reason}"
    )
    return replace(
        decision, action=Action.DELIVER, message=words, delivery="unresolved", coaching=None, missing=(COST_UNKNOWN,)
    )


def _judged(
    decision: Decision,
    situation: Situation,
    reported: Reported,
    check: CheckRun | None,
    session: SessionRecord,
    evidence: Evidence,
    *,
    limits: Limits,
) -> Judged:
    unknown = decision.missing == (COST_UNKNOWN,)
    steps = steps_of([part for each in evidence.turns for part in each.parts])
    return Judged(
        action=str(decision.action),
        reason=COST_UNKNOWN if unknown else str(decision.reason),
        message=decision.message,
        delivery=decision.delivery,
        tier=decision.coaching.tier if decision.coaching is not None else None,
        rule=str(situation.thrash.rule) if situation.thrash is not None else None,
        missing=() if unknown else decision.missing,
        fresh=decision.session == "new",
        delay_seconds=decision.delay_seconds,
        seconds_allowed=decision.seconds_allowed,
        work=counters_of(decision.work),
        stop_kind=str(situation.stop.kind),
        note=situation.stop.note,
        failures=reported.failures,
        nudged=session.state.nudged or decision.action is Action.NUDGE,
        calls=situation.ledger.calls,
        final_text=reported.text,
        recovered_by=reported.check.recovered_by if reported.check is not None else "",
        values=dict(reported.check.values) if reported.check is not None else {},
        evidence=shown(situation.ledger, situation.stop, check),
        analysis=pattern_report(steps, len(evidence.turns) * 2 + 1, loop=situation.thrash, limits=limits),
    )
