"""Every row of the decision table: that it fires, and that its nearest healthy neighbour does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.budgets import Budget, Spending
from touchline.supervision.contract import Content, ContractCheck, Problem
from touchline.supervision.decide import decide
from touchline.supervision.evidence import Ledger, Write
from touchline.supervision.facts import Ended, Fault
from touchline.supervision.limits import LIMITS
from touchline.supervision.phases import phases
from touchline.supervision.recovery import Outcome, Recovery, RetryReason
from touchline.supervision.situation import Action, Reason, Situation, Work
from touchline.supervision.stop import classify
from touchline.supervision.stops import Claim, Kind, Rejection, Span, Standing, Stop
from touchline.supervision.thrash import Rule, Thrash


def stop(kind: Kind = Kind.COMPLETION, *rejected: Rejection, confidence: float = 0.9) -> Stop:
    missing = ("a run after the last change",) if rejected else ()
    return Stop(kind=kind, confidence=confidence, reason="test", rejected=rejected, missing=missing)


DONE = Situation(stop=stop())
REJECTED = Situation(stop=stop(Kind.COMPLETION, "unverified_edits"))
STATUS = Situation(stop=stop(Kind.STATUS))
LOOP = Thrash(rule=Rule.REPEAT, grade="loop", began=1, at=4, message="The same call four times.", calls=(1, 4))
OVERLOADED = Fault(kind="overloaded", message="529 overloaded", status=529, fatal=True)
BROKEN = ContractCheck(content=Content.CONTRACT_VIOLATION, problems=(Problem(name="plan_path", wrong="missing"),))


def outcome(situation: Situation) -> tuple[Action, Reason]:
    decision = decide(situation)
    return decision.action, decision.reason


def test_row_1_what_was_delivered_is_dropped() -> None:
    assert outcome(replace(DONE, delivered=True)) == (Action.DROP, Reason.ALREADY_DELIVERED)
    assert outcome(DONE) == (Action.DELIVER, Reason.COMPLETED)


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        (Ended.CRASHED, Reason.CRASHED),
        (Ended.API_ERROR, Reason.API_ERROR),
        (Ended.KILLED, Reason.KILLED),
        (Ended.TIMED_OUT, Reason.TIMED_OUT),
        (Ended.INTERRUPTED, Reason.INTERRUPTED),
        (Ended.UNKNOWN, Reason.END_UNKNOWN),
    ],
)
@pytest.mark.parametrize("situation", [DONE, STATUS, REJECTED])
def test_row_2_a_broken_end_is_delivered_as_an_error_never_continued(
    ended: Ended, reason: Reason, situation: Situation
) -> None:
    decision = decide(replace(situation, ended=ended))
    assert (decision.action, decision.reason, decision.delivery) == (Action.DELIVER, reason, "error")


APOLOGY = "I'm sorry about that! Something went wrong on my side. I'll continue with the remaining files now."


def test_row_2_a_crash_with_an_apology_is_never_continued_with_the_model_offline() -> None:
    def offline(_: object) -> None:
        raise ConnectionError("no model here")

    crashed = classify(APOLOGY, ended=Ended.CRASHED, judge=offline)  # type: ignore[arg-type]
    assert crashed.kind is Kind.ERROR
    assert outcome(Situation(stop=crashed, ended=Ended.CRASHED)) == (Action.DELIVER, Reason.CRASHED)
    healthy = classify(APOLOGY, ended=Ended.FINISHED)
    assert healthy.kind is Kind.STATUS
    assert outcome(Situation(stop=healthy))[0] is Action.CONTINUE


def test_row_2_a_provider_fault_is_retried_with_growing_patience_and_counts_for_nobody() -> None:
    down = replace(STATUS, ended=Ended.API_ERROR, fault=OVERLOADED)
    delays = []
    for used in range(len(LIMITS.retry_delays)):
        decision = decide(replace(down, work=Work(provider_retries=used)))
        assert (decision.action, decision.reason) == (Action.RETRY, Reason.PROVIDER_FAULT)
        assert not decision.counts_as_attempt
        assert decision.session == "same"
        assert decision.work.provider_retries == used + 1
        delays.append(decision.delay_seconds)
    assert delays == sorted(delays)
    assert delays[0] > 0
    last = decide(replace(down, work=Work(provider_retries=len(LIMITS.retry_delays))))
    assert (last.action, last.delivery) == (Action.DELIVER, "error")


@pytest.mark.parametrize("kind", ["auth", "bad_request", "context", "permission", "other"])
def test_row_2_a_fault_that_will_not_pass_is_not_retried(kind: str) -> None:
    fault = Fault(kind=kind, message="no", fatal=True)  # type: ignore[arg-type]
    assert outcome(replace(STATUS, ended=Ended.API_ERROR, fault=fault)) == (Action.DELIVER, Reason.API_ERROR)


def test_row_2_a_message_that_reports_an_abnormal_end() -> None:
    assert outcome(Situation(stop=stop(Kind.ERROR))) == (Action.DELIVER, Reason.ERROR_REPORTED)


def test_row_3_a_used_up_budget_is_reviewed_where_somebody_can() -> None:
    spent = replace(STATUS, budget=Budget(turns=3), spending=Spending(turns=3))
    assert outcome(spent) == (Action.DELIVER, Reason.BUDGET_EXHAUSTED)
    assert outcome(replace(spent, reviewer=True)) == (Action.REVIEW, Reason.BUDGET_EXHAUSTED)
    assert outcome(replace(spent, spending=Spending(turns=2)))[0] is Action.CONTINUE


def test_row_3_work_that_the_last_allowed_turn_has_finished_is_delivered_as_done() -> None:
    spent = replace(DONE, budget=Budget(turns=1, tokens=9), spending=Spending(turns=1, tokens=10))
    assert outcome(spent) == (Action.DELIVER, Reason.COMPLETED)
    for open_yet in (stop(Kind.COMPLETION, "unverified_edits"), stop(confidence=0.5), stop(Kind.QUESTION)):
        assert outcome(replace(spent, stop=open_yet)) == (Action.DELIVER, Reason.BUDGET_EXHAUSTED)
    for more in ({"thrash": LOOP}, {"contract": BROKEN}, {"ended": Ended.LIMIT}):
        assert outcome(replace(spent, **more)) == (Action.DELIVER, Reason.BUDGET_EXHAUSTED)


def test_row_3_turns_that_are_used_up_leave_the_nudge_which_is_none() -> None:
    nudge = Recovery(step="nudge", reason=RetryReason.CONTRACT_RECOVERY, outcome=Outcome.RETRIABLE, message="say it")
    spent = replace(DONE, contract=BROKEN, recovery=nudge, budget=Budget(turns=1), spending=Spending(turns=1))
    assert outcome(spent) == (Action.NUDGE, Reason.CONTRACT_NUDGE)
    assert outcome(replace(spent, recovery=replace(nudge, step="retry"))) == (Action.DELIVER, Reason.BUDGET_EXHAUSTED)
    poor = replace(spent, budget=Budget(turns=1, usd=1.0), spending=Spending(turns=1, usd=2.0))
    assert outcome(poor) == (Action.DELIVER, Reason.BUDGET_EXHAUSTED)


def test_row_3_the_agents_own_limit() -> None:
    limited = replace(STATUS, ended=Ended.LIMIT)
    assert outcome(limited) == (Action.DELIVER, Reason.LIMIT_REACHED)
    assert outcome(replace(limited, reviewer=True)) == (Action.REVIEW, Reason.LIMIT_REACHED)


@pytest.mark.parametrize(
    ("step", "action", "reason"),
    [
        ("nudge", Action.NUDGE, Reason.CONTRACT_NUDGE),
        ("retry", Action.RETRY, Reason.CONTRACT_RETRY),
        ("stop", Action.DELIVER, Reason.BUDGET_EXHAUSTED),
    ],
)
def test_row_4_a_broken_contract_goes_down_its_ladder(step: str, action: Action, reason: Reason) -> None:
    why = RetryReason.BUDGET_EXHAUSTED if step == "stop" else RetryReason.CONTRACT_RECOVERY
    recovery = Recovery(step=step, reason=why, outcome=Outcome.RETRIABLE, message="say it")  # type: ignore[arg-type]
    decision = decide(replace(DONE, contract=BROKEN, recovery=recovery))
    assert (decision.action, decision.reason) == (action, reason)
    assert decision.missing == ("plan_path (missing)",)
    assert decision.seconds_allowed == (LIMITS.nudge_seconds if step == "nudge" else None)


def test_row_4_a_stop_for_another_reason_says_so() -> None:
    recovery = Recovery(step="stop", reason=RetryReason.PATH_CONTAMINATION, outcome=Outcome.FAILED)
    assert outcome(replace(DONE, contract=BROKEN, recovery=recovery)) == (Action.DELIVER, Reason.CONTRACT_FAILED)


KEPT = ContractCheck(content=Content.COMPLETE)


def test_row_4_a_kept_contract_outranks_unfinished_words_but_not_the_ledger() -> None:
    assert outcome(replace(STATUS, contract=KEPT)) == (Action.DELIVER, Reason.COMPLETED)
    edited = Ledger(writes=(Write(path="a.py", call=0, how="tool"),))
    assert outcome(replace(STATUS, contract=KEPT, ledger=edited)) == (Action.CONTINUE, Reason.COMPLETION_REJECTED)
    assert outcome(replace(DONE, stop=stop(Kind.QUESTION), contract=KEPT)) == (Action.ASK, Reason.QUESTION)


@pytest.mark.parametrize(("kind", "reason"), [(Kind.QUESTION, Reason.QUESTION), (Kind.BLOCKER, Reason.BLOCKER)])
def test_row_4_who_asks_owes_no_report_yet(kind: Kind, reason: Reason) -> None:
    recovery = Recovery(step="retry", reason=RetryReason.CONTRACT_RECOVERY, outcome=Outcome.RETRIABLE)
    asking = replace(DONE, stop=stop(kind), contract=BROKEN, recovery=recovery)
    assert outcome(asking) == (Action.ASK, reason)


def test_row_5_a_loop_is_steered_then_reviewed_then_stopped() -> None:
    looping = replace(STATUS, thrash=LOOP, reviewer=True)
    steered = decide(looping)
    assert (steered.action, steered.reason) == (Action.STEER, Reason.THRASH_STEERED)
    assert LOOP.message in steered.message
    assert outcome(replace(looping, work=Work(steered=1))) == (Action.REVIEW, Reason.THRASH_REVIEWED)
    assert outcome(replace(looping, work=Work(steered=1, reviewed=1))) == (Action.DELIVER, Reason.THRASH_STOPPED)
    assert outcome(replace(looping, work=Work(steered=1), reviewer=False)) == (Action.DELIVER, Reason.THRASH_STOPPED)


def test_row_5_a_warning_does_not_act() -> None:
    assert outcome(replace(STATUS, thrash=replace(LOOP, grade="warning")))[0] is Action.CONTINUE


def test_row_5_what_is_carried_climbs_the_ladder_and_a_loop_that_is_over_starts_anew() -> None:
    looping = replace(STATUS, thrash=LOOP, reviewer=True)
    first = decide(looping)
    second = decide(replace(looping, work=first.work))
    third = decide(replace(looping, work=second.work))
    assert [first.action, second.action, third.action] == [Action.STEER, Action.REVIEW, Action.DELIVER]
    over = decide(replace(STATUS, work=first.work))
    assert over.work.steered == 0


@pytest.mark.parametrize(("kind", "reason"), [(Kind.QUESTION, Reason.QUESTION), (Kind.BLOCKER, Reason.BLOCKER)])
def test_row_6_questions_and_blockers_go_to_a_person(kind: Kind, reason: Reason) -> None:
    assert outcome(Situation(stop=stop(kind))) == (Action.ASK, reason)


@pytest.mark.parametrize("kind", [Kind.STATUS, Kind.COMPLETION])
def test_row_6_an_unsure_reading_is_shown_never_silently_continued(kind: Kind) -> None:
    assert outcome(Situation(stop=stop(kind, confidence=0.79))) == (Action.ASK, Reason.UNSURE)
    assert outcome(Situation(stop=stop(kind, confidence=0.80)))[0] is not Action.ASK


def test_row_7_a_rejected_completion_is_coached_with_all_it_carries() -> None:
    work = Work(task="/do-build search", phase=phases()["build"], workflow_id="w-1")
    decision = decide(replace(REJECTED, work=work))
    assert (decision.action, decision.reason) == (Action.CONTINUE, Reason.COMPLETION_REJECTED)
    assert decision.coaching is not None
    assert decision.coaching.tier == "rejection"
    assert decision.message == decision.coaching.text
    assert decision.work == replace(work, continuations=1, last_rejection=("unverified_edits",))


def test_row_7_the_same_rejection_is_reworded_and_the_third_goes_to_a_person() -> None:
    first = decide(REJECTED)
    second = decide(replace(REJECTED, work=first.work))
    third = decide(replace(REJECTED, work=second.work))
    assert first.action is second.action is Action.CONTINUE
    assert first.message != second.message
    assert (third.action, third.reason) == (Action.ASK, Reason.REJECTED_AGAIN)


def test_row_7_the_same_false_claim_about_other_calls_is_the_same_rejection() -> None:
    def claiming(call: int) -> Situation:
        span = Span(start=0, end=3, text="all")
        claim = Claim(what="tests_pass", span=span, standing=Standing.CONTRADICTED, because=f"call {call}", call=call)
        said = replace(stop(Kind.COMPLETION, "contradicted_claim"), claims=(claim,), missing=(f"see call {call}",))
        return Situation(stop=said)

    first = decide(claiming(3))
    second = decide(replace(claiming(9), work=first.work))
    third = decide(replace(claiming(12), work=second.work))
    assert second.work.same_rejections == 1
    assert third.reason is Reason.REJECTED_AGAIN


def test_row_7_another_rejection_starts_anew() -> None:
    work = decide(replace(REJECTED, work=decide(REJECTED).work)).work
    other = replace(REJECTED, stop=stop(Kind.COMPLETION, "hedged_only"), work=work)
    assert outcome(other) == (Action.CONTINUE, Reason.COMPLETION_REJECTED)


def test_row_8_a_status_is_continued_plainly() -> None:
    decision = decide(STATUS)
    assert (decision.action, decision.reason, decision.message) == (Action.CONTINUE, Reason.STATUS, "continue")


def test_row_9_a_completion_with_evidence_is_delivered() -> None:
    decision = decide(DONE)
    assert (decision.action, decision.reason, decision.delivery) == (Action.DELIVER, Reason.COMPLETED, "accepted")


@pytest.mark.parametrize("situation", [STATUS, REJECTED])
def test_row_10_at_the_cap_it_is_delivered_unresolved_with_what_is_missing(situation: Situation) -> None:
    below = replace(situation, work=Work(continuations=LIMITS.continue_cap - 1))
    assert decide(below).action is Action.CONTINUE
    decision = decide(replace(situation, work=Work(continuations=LIMITS.continue_cap)))
    assert (decision.action, decision.reason) == (Action.DELIVER, Reason.CAP_REACHED)
    assert decision.delivery == "unresolved"
    assert decision.missing == situation.stop.missing


def test_a_delivery_resets_the_counters_and_keeps_the_task() -> None:
    work = Work(task="t", workflow_id="w", continuations=3, same_rejections=1, last_rejection=("x",))
    assert decide(replace(DONE, work=work)).work == Work(task="t", workflow_id="w")


situations = st.builds(
    Situation,
    stop=st.builds(
        Stop,
        kind=st.sampled_from(list(Kind)),
        confidence=st.floats(0, 1),
        reason=st.just("r"),
        rejected=st.sampled_from([(), ("unverified_edits",), ("hedged_only",)]),
    ),
    ended=st.sampled_from(list(Ended)),
    fault=st.sampled_from([None, OVERLOADED]),
    delivered=st.booleans(),
    reviewer=st.booleans(),
    thrash=st.sampled_from([None, LOOP]),
    work=st.builds(
        Work, continuations=st.integers(0, 5), steered=st.integers(0, 2), provider_retries=st.integers(0, 9)
    ),
)


@given(situations)
def test_every_situation_has_a_decision_and_errors_are_never_continued(situation: Situation) -> None:
    decision = decide(situation)
    if situation.ended not in (Ended.FINISHED, Ended.LIMIT) or situation.stop.kind is Kind.ERROR:
        assert decision.action in (Action.DROP, Action.DELIVER, Action.RETRY)
    if decision.action is Action.CONTINUE:
        assert decision.message
        assert situation.work.continuations < LIMITS.continue_cap
        assert decision.work.continuations == situation.work.continuations + 1
    if decision.action is Action.DELIVER:
        assert decision.delivery is not None
