"""The ladder, its texts, the planning reminder and the reviewer's report."""

from __future__ import annotations

import pytest

from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.patterns import Rule, Thrash
from touchline.supervision.steering import (
    Measure,
    next_measure,
    pattern_report,
    planning_reminder,
    refusal,
    reminder,
)


def step(index: int, command: str, failed: bool = False) -> Step:
    call = Call(id=str(index), tool="Bash", args={"command": command})
    return Step(index=index, call=call, result=Result(call_id=call.id, text="", digest="", failed=failed))


WARNING = Thrash(rule=Rule.FAILURE_RATE, grade="warning", began=2, at=6, message="Too much fails.")
LOOP = Thrash(rule=Rule.NOTHING_NEW, grade="loop", began=2, at=11, message="Nothing new.")
REPEAT = Thrash(
    rule=Rule.REPEAT, grade="loop", began=2, at=5, refused=True, message="Again {the} same.", detail="no {rule} for x"
)


@pytest.mark.parametrize(
    ("thrash", "history", "measure"),
    [
        (WARNING, (), "remind"),
        (WARNING, ("remind", "refuse", "review"), "remind"),
        (LOOP, (), "remind"),
        (LOOP, ("remind",), "review"),
        (LOOP, ("refuse",), "review"),
        (LOOP, ("remind", "review"), "stop"),
        (REPEAT, (), "refuse"),
        (REPEAT, ("remind", "refuse"), "refuse"),
        (REPEAT, ("remind", "refuse", "refuse"), "review"),
        (REPEAT, ("refuse", "refuse", "review"), "stop"),
    ],
)
def test_each_rung_of_the_ladder(thrash: Thrash, history: tuple[Measure, ...], measure: Measure) -> None:
    assert next_measure(thrash, history) == measure


@pytest.mark.parametrize("thrash", [WARNING, LOOP, REPEAT])
def test_nothing_is_stopped_before_it_was_nudged_and_reviewed(thrash: Thrash) -> None:
    taken: list[Measure] = []
    while len(taken) < 10 and "stop" not in taken:
        taken.append(next_measure(thrash, taken))
    if thrash.grade == "warning":
        assert set(taken) == {"remind"}
    else:
        assert taken[0] in ("remind", "refuse")
        assert taken[-2:] == ["review", "stop"]


def test_a_streak_is_reminded_of_once() -> None:
    first = reminder(LOOP)
    assert first is not None
    assert LOOP.message in first
    later = Thrash(rule=Rule.NOTHING_NEW, grade="loop", began=3, at=12, message="Nothing new.")
    assert reminder(later, reminded=LOOP) is None
    another = Thrash(rule=Rule.NOTHING_NEW, grade="loop", began=30, at=40, message="Nothing new.")
    assert reminder(another, reminded=LOOP) is not None
    assert reminder(WARNING, reminded=LOOP) is not None


def test_a_refusal_says_what_the_last_error_began_with() -> None:
    assert "no {rule} for x" in refusal(REPEAT)
    assert "Again {the} same." in refusal(REPEAT)
    assert "began:" not in refusal(LOOP)


def test_the_planning_reminder_says_all_a_planner_needs() -> None:
    text = planning_reminder([step(0, "ls"), step(1, "git fetch", failed=True)], True, None)
    assert text is not None
    for word in (
        "PLANNING",
        "read-only",
        "current",
        "git fetch",
        "git pull",
        "git checkout",
        "grep",
        "submit",
        "question",
    ):
        assert word in text


def test_the_planning_reminder_comes_once_per_streak_of_failures() -> None:
    failing = [step(0, "ls"), step(1, "git fetch", failed=True), step(2, "git pull", failed=True)]
    assert planning_reminder(failing, True, 1) is None
    again = [*failing, step(3, "ls"), step(4, "git checkout main", failed=True)]
    assert planning_reminder(again, True, 1) is not None


def test_no_planning_reminder_without_a_failure_or_where_writing_is_allowed() -> None:
    assert planning_reminder([step(0, "git fetch", failed=True)], False, None) is None
    assert planning_reminder([step(0, "git fetch", failed=True), step(1, "ls")], True, None) is None
    assert planning_reminder([], True, None) is None


def test_report_of_a_high_failure_rate_and_a_repeated_failure() -> None:
    steps = [step(n, f"a{n}") for n in range(9)] + [step(9 + n, "git fetch", failed=True) for n in range(8)]
    lines = pattern_report(steps, 12).splitlines()
    assert lines[0] == "High tool failure rate: 8/10 tool calls failed (80%)"
    assert lines[1] == "Repeated failing command detected: 'git fetch' (same command failed consecutively)"
    assert lines[2].startswith("**ALERT**")
    assert len(lines) == 3


def test_report_of_a_repeated_failure_alone() -> None:
    steps = [step(n, f"a{n}") for n in range(5)] + [step(5 + n, "make", failed=True) for n in range(2)]
    lines = pattern_report(steps, 12).splitlines()
    assert [line.split(":")[0] for line in lines] == ["Repeated failing command detected", "**ALERT**"]


def test_report_of_healthy_calls() -> None:
    steps = [step(n, f"a{n}", failed=n % 2 == 0) for n in range(10)]
    assert pattern_report(steps, 3) == "Tool calls appear healthy (5/10 successful)"


def test_report_with_too_little_to_look_at() -> None:
    assert pattern_report([step(0, "ls", failed=True)], 2) == "Insufficient activity to analyze patterns"
    assert pattern_report([], 3) == "No tool calls to analyze"


def test_report_of_a_loop_that_goes_on() -> None:
    loop = Thrash(rule=Rule.WANDERING, grade="loop", began=1, at=4, message="It wanders.")
    for steps, messages in (([], 1), ([step(0, "ls"), step(1, "pwd")], 9)):
        lines = pattern_report(steps, messages, loop=loop).splitlines()
        assert lines[0] == "It wanders."
        assert lines[1].startswith("**ALERT**")
