"""What the coach says, in its three tiers."""

from __future__ import annotations

import pytest

from touchline.supervision.coach import Coaching, Plan, coach
from touchline.supervision.evidence import Command, Ledger, Weakened, Write
from touchline.supervision.phases import phases
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
    claim = Claim(what="tests_pass", span=_span("all tests pass"), because="no test run is in the record")
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
    said = coach(_stop("phase_evidence_missing", missing=("a commit",)), phase=phases()["build"])
    assert "build phase" in said.text
    assert "a commit" in said.text


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
