"""The paid rungs of the contract's ladder, and the one reason of every retry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchline.supervision.contract import Content, Contract, PathFacts, Token, check_contract
from touchline.supervision.evidence import Ledger, Write
from touchline.supervision.facts import Ended, Text, Turn, Usage
from touchline.supervision.recovery import (
    ROUTES,
    Attempt,
    Outcome,
    RetryReason,
    merge_nudge,
    nudge_message,
    recover,
    retry_reason,
)

MARKER = "::done-7f3a::"
CONTRACT = Contract(
    tokens=(Token(name="plan_path", type="path"), Token(name="verdict", type="verdict", choices=("go", "stop"))),
    marker=MARKER,
)
WROTE = Ledger(calls=1, writes=(Write(path="/w/plan.md", call=0, how="tool"),))
GOOD = PathFacts(exists=True, inside=True, fresh=True)


def turn(text: str, *, ended: Ended = Ended.FINISHED, session: str | None = "s", tokens: int = 0) -> Turn:
    usage = Usage(input=tokens)
    return Turn(
        cli="claude",
        session_id=session,
        ended=ended,
        events=(Text(text=text),) if text else (),
        usage=usage,
        usage_by_model={"m": usage},
        cost_usd=tokens / 1000,
    )


FORGOT = turn("The plan is written.\nverdict = go", tokens=1000)
CHECK = check_contract(CONTRACT, FORGOT)


def test_a_forgotten_token_is_nudged_once() -> None:
    step = recover(CONTRACT, CHECK, FORGOT, WROTE, Attempt())
    assert (step.step, step.reason) == ("nudge", RetryReason.CONTRACT_RECOVERY)
    assert recover(CONTRACT, CHECK, FORGOT, WROTE, Attempt(nudged=True)).step == "retry"


@pytest.mark.parametrize(
    ("said", "ledger"),
    [(FORGOT, Ledger()), (replace(FORGOT, session_id=None), WROTE)],
    ids=["nothing was written", "no session to resume"],
)
def test_without_writes_or_session_there_is_no_nudge(said: Turn, ledger: Ledger) -> None:
    assert recover(CONTRACT, CHECK, said, ledger, Attempt()).step == "retry"


def test_a_session_that_did_not_finish_is_not_nudged() -> None:
    broken = turn("half", ended=Ended.API_ERROR)
    assert recover(CONTRACT, check_contract(CONTRACT, broken), broken, WROTE, Attempt()).step == "retry"


def test_a_path_outside_fails_the_turn_without_a_nudge() -> None:
    said = turn(f"plan_path = /etc/passwd\nverdict = go\n{MARKER}")
    outside = {"/etc/passwd": PathFacts(exists=True, inside=False, fresh=True)}
    step = recover(CONTRACT, check_contract(CONTRACT, said, paths=outside), said, WROTE, Attempt())
    assert (step.step, step.reason) == ("retry", RetryReason.PATH_CONTAMINATION)


def test_with_three_retries_the_fourth_failure_ends_it() -> None:
    assert recover(CONTRACT, CHECK, FORGOT, WROTE, Attempt(nudged=True, failures=3)).step == "retry"
    fourth = recover(CONTRACT, CHECK, FORGOT, WROTE, Attempt(nudged=True, failures=4))
    assert (fourth.step, fourth.reason, fourth.outcome) == ("stop", RetryReason.BUDGET_EXHAUSTED, Outcome.FAILED)


def test_the_nudge_names_tokens_and_types_but_hands_over_no_value() -> None:
    words = nudge_message(CONTRACT, CHECK)
    assert "plan_path = <absolute path" in words
    assert "/w/plan.md" not in words
    assert "verdict" not in words
    assert MARKER in words


def test_a_good_answer_completes_the_turn_and_adds_up_what_it_cost() -> None:
    answer = turn(f"plan_path = /w/plan.md\n{MARKER}", tokens=50)
    check, merged = merge_nudge(CONTRACT, CHECK, FORGOT, answer, paths={"/w/plan.md": GOOD})
    assert (check.content, check.recovered_by) == (Content.COMPLETE, "nudge")
    assert check.values == {"plan_path": "/w/plan.md", "verdict": "go"}
    assert check.body == CHECK.body
    assert MARKER not in check.body
    assert merged.usage.input == 1050
    assert merged.usage_by_model["m"].input == 1050
    assert merged.cost_usd == pytest.approx(1.05)


@pytest.mark.parametrize(
    ("answer", "paths"),
    [
        (turn("Sorry, I do not know."), {}),
        (turn(f"plan_path = /w/plan.md\n{MARKER}"), {}),
        (
            turn(f"plan_path = /etc/passwd\n{MARKER}"),
            {"/etc/passwd": PathFacts(exists=True, inside=False, fresh=True)},
        ),
        (turn(f"plan_path = /w/plan.md\n{MARKER}", ended=Ended.CRASHED), {"/w/plan.md": GOOD}),
        (turn(""), {}),
    ],
    ids=["no token", "path nobody looked up", "path outside", "nudge crashed", "silence"],
)
def test_a_nudge_that_fails_leaves_the_result_as_it_was(answer: Turn, paths: dict[str, PathFacts]) -> None:
    check, merged = merge_nudge(CONTRACT, CHECK, FORGOT, answer, paths=paths)
    assert replace(check, refused=()) == CHECK
    assert merged.events == FORGOT.events


@pytest.mark.parametrize(
    ("said", "ledger", "attempt", "deferred", "reason"),
    [
        (turn("fine"), WROTE, Attempt(), False, RetryReason.NONE),
        (turn(""), Ledger(), Attempt(), False, RetryReason.EMPTY_OUTPUT),
        (turn(""), WROTE, Attempt(), False, RetryReason.EARLY_STOP),
        (turn("done"), Ledger(), Attempt(wants_writes=True), False, RetryReason.ZERO_WRITES),
        (turn("done"), WROTE, Attempt(wants_writes=True), False, RetryReason.NONE),
        (turn("next I will"), WROTE, Attempt(), True, RetryReason.EARLY_STOP),
        (turn("x", ended=Ended.TIMED_OUT), WROTE, Attempt(), False, RetryReason.STALE),
        (turn("x", ended=Ended.LIMIT), WROTE, Attempt(), False, RetryReason.RESUME),
        (turn("x", ended=Ended.CRASHED), WROTE, Attempt(), False, RetryReason.RESUME),
        (turn("x", ended=Ended.CRASHED), WROTE, Attempt(failures=4), False, RetryReason.BUDGET_EXHAUSTED),
    ],
)
def test_every_retry_has_one_reason(
    said: Turn, ledger: Ledger, attempt: Attempt, deferred: bool, reason: RetryReason
) -> None:
    assert retry_reason(said, ledger, attempt, deferred=deferred) is reason


def test_a_finished_report_without_its_final_record_is_read_again() -> None:
    said = turn(f"plan_path = /w/plan.md\nverdict = go\n{MARKER}", ended=Ended.KILLED)
    assert retry_reason(said, WROTE, Attempt(), contract=CONTRACT) is RetryReason.COMPLETED_NO_FLUSH
    half = turn("plan_path = /w/plan.md", ended=Ended.KILLED)
    assert retry_reason(half, WROTE, Attempt(), contract=CONTRACT) is RetryReason.RESUME


def test_every_reason_has_a_route() -> None:
    assert set(ROUTES) == set(RetryReason)
