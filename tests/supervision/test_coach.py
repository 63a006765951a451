"""What the coach says, in its three tiers."""

from __future__ import annotations

import pytest

from touchline.supervision.coach import Coaching, Plan, coach
from touchline.supervision.evidence import Command, Ledger, TestRun, Weakened, Write
from touchline.supervision.phases import phases
from touchline.supervision.stop import classify
from touchline.supervision.stops import Claim, Kind, Span, Standing, Stop

EDITED = Ledger(calls=4, writes=(Write(path="shop/price.py", call=3, how="tool"),))


def _span(text: str) -> Span:
    return Span(start=0, end=len(text), text=text)


def _stop(*rejected: str, **kwargs: object) -> Stop:
    return Stop(kind=Kind.COMPLETION, confidence=0.9, reason="claims", rejected=rejected, **kwargs)  # type: ignore[arg-type]


def test_a_contradiction_names_the_words_and_the_call() -> None:
    claim = Claim(
        what="tests_pass",
        span=_span("All 42 tests pass"),
        standing=Standing.CONTRADICTED,
        because="call 7 (`pytest`) ended with 3 failed, exit code 1.",
        call=7,
    )
    said = coach(_stop("contradicted_claim", claims=(claim,)))
    assert said.tier == "rejection"
    assert said.text.startswith("[System Coach] ")
    assert '"All 42 tests pass"' in said.text
    assert "call 7" in said.text
    assert "3 failed" in said.text


def test_unverified_edits_name_the_files_and_the_last_change() -> None:
    said = coach(_stop("unverified_edits"), ledger=EDITED)
    assert "shop/price.py" in said.text
    assert "call 3" in said.text


def test_a_check_that_failed_after_the_edit_is_named_instead() -> None:
    ran = Command(text="pytest -q", call=4, kinds=frozenset({"test"}), exit_code=1, failed=True)
    said = coach(_stop("unverified_edits"), ledger=Ledger(writes=EDITED.writes, commands=(ran,)))
    assert "`pytest -q`" in said.text
    assert "exit code 1" in said.text
    assert "nothing was run" not in said.text


def test_the_second_time_it_is_put_differently() -> None:
    stop = _stop("unverified_edits")
    first, second = coach(stop, ledger=EDITED), coach(stop, ledger=EDITED, rejections_before=1)
    assert first.text != second.text
    assert first.text.splitlines()[0] != second.text.splitlines()[0]
    assert "shop/price.py" in second.text


def test_a_deed_without_a_trace_is_named() -> None:
    claim = Claim(
        what="tests_pass", span=_span("all tests pass"), because="no test run is in the record", untraced=True
    )
    said = coach(_stop("unproved_claim", claims=(claim,)), ledger=EDITED)
    assert '"all tests pass", but no test run is in the record' in said.text


def test_weakened_tests_are_named() -> None:
    weakened = Weakened(why="test_skipped", detail="test_price.py now skips a test", call=5)
    said = coach(_stop("tests_weakened"), ledger=Ledger(weakened=weakened))
    assert "call 5" in said.text
    assert "test_price.py now skips a test" in said.text


def test_a_hedge_is_quoted() -> None:
    assert '"should work"' in coach(_stop("hedged_only", hedges=(_span("should work"),))).text


def test_phase_evidence_is_listed() -> None:
    stop = _stop("phase_evidence_missing", missing=("something else", "a commit"), lacking=("a commit",))
    said = coach(stop, phase=phases()["build"])
    assert "The build phase still lacks: a commit." in said.text
    assert "something else" not in said.text


def test_without_a_phase_the_declared_check_is_what_is_missing() -> None:
    said = coach(_stop("phase_evidence_missing", lacking=("a pass of `make test`",)))
    assert "Still missing: a pass of `make test`." in said.text
    assert "phase" not in said.text


def test_a_claim_is_quoted_with_its_sentence_and_said_once() -> None:
    text = "Summary:\n\n- **Split** the parser in two, and I renamed it.\n"
    run = TestRun(runner="pytest", call=2, passed=3, failed=1, exit_code=1, outcome="failed")
    stop = classify(text, ledger=Ledger(calls=3, writes=EDITED.writes[:0], test_runs=(run,)))
    said = coach(stop).text
    assert said.count('You wrote "Split the parser in two, and I renamed it."') == 1
    assert "call 2 ran pytest: 3 passed, 1 failed (exit code 1)" in said


def test_a_run_of_touchline_itself_is_not_called_a_call_of_the_agent() -> None:
    run = TestRun(runner="pytest", call=4, passed=3, failed=1, exit_code=1, outcome="failed", own=True)
    ran = Command(text="pytest -q", call=4, kinds=frozenset({"test"}), exit_code=1, failed=True, own=True)
    ledger = Ledger(calls=5, writes=EDITED.writes, commands=(ran,), test_runs=(run,))
    said = coach(classify("I fixed the price.", ledger=ledger), ledger=ledger).text
    assert said.count("Touchline's own check ran pytest: 3 passed, 1 failed (exit code 1)") == 1
    assert "call 4" not in said


def test_each_fact_is_told_once_however_many_claims_it_speaks_against() -> None:
    run = TestRun(runner="pytest", call=4, passed=3, failed=1, exit_code=1, outcome="failed")
    ran = Command(text="pytest -q", call=4, kinds=frozenset({"test"}), exit_code=1, failed=True)
    ledger = Ledger(calls=5, writes=EDITED.writes, commands=(ran,), test_runs=(run,))
    text = "I fixed the price. I added the option. I verified it. All tests pass."
    said = coach(classify(text, ledger=ledger), ledger=ledger).text
    assert said.count("call 4 ran pytest: 3 passed, 1 failed (exit code 1)") == 2, "one for words, one for the work"
    assert 'You wrote "All tests pass.", but the record shows otherwise' in said
    assert (
        '"I fixed the price.", "I added the option.", "I verified it.", and what was run does not bear it out' in said
    )
    assert "ended with exit code 1" not in said


def test_a_failed_run_that_no_claim_is_held_against_is_named() -> None:
    ran = Command(text="python3 app.py", call=4, kinds=frozenset({"run"}), exit_code=1, failed=True)
    ledger = Ledger(calls=5, writes=EDITED.writes, commands=(ran,))
    said = coach(classify("I fixed the price.", ledger=ledger), ledger=ledger).text
    assert "call 4, `python3 app.py`, ended with exit code 1" in said


STATUS = Stop(kind=Kind.STATUS, confidence=0.9, reason="deferral")


def test_criteria_are_quoted_verbatim_when_certain() -> None:
    plan = Plan(path="plans/search.md", text="## Success Criteria\n- p95 under 50 ms {sic}\n")
    said = coach(STATUS, phase=phases()["build"], plan=plan)
    assert said.tier == "criteria"
    assert "- p95 under 50 ms {sic}" in said.text


def test_an_uncertain_plan_is_only_pointed_at() -> None:
    for text in (None, "no criteria here"):
        said = coach(STATUS, phase=phases()["build"], plan=Plan(path="plans/search.md", text=text))
        assert said.tier == "pointer"
        assert "plans/search.md" in said.text


@pytest.mark.parametrize(
    ("text", "tier", "quoted"),
    [
        ("## Success Criteria\n- p95 under 50 ms {sic}\n", "criteria", "- p95 under 50 ms {sic}"),
        ("no criteria here", "pointer", "Please read them there"),
        (None, "pointer", "Please read them there"),
    ],
)
def test_a_plan_counts_without_a_phase_too(text: str | None, tier: str, quoted: str) -> None:
    said = coach(STATUS, plan=Plan(path="plans/search.md", text=text))
    assert said.tier == tier
    assert said.text.startswith("[System Coach]")
    assert "plans/search.md" in said.text
    assert quoted in said.text
    assert "phase" not in said.text


def test_without_a_plan_the_phase_gives_its_hint() -> None:
    said = coach(STATUS, phase=phases()["test"])
    assert said.tier == "hint"
    assert phases()["test"].hint in said.text


def test_nothing_certain_to_say_is_a_plain_continue() -> None:
    assert coach(STATUS) == Coaching(tier="plain", text="continue")


def test_long_claims_are_shortened() -> None:
    claim = Claim(what="fixed", span=_span("word " * 200))
    assert len(coach(_stop("no_proof_shown", claims=(claim,))).text) < 1_000
