"""Every thrash rule: a run in which it fires, and the nearest healthy run in which it does not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from touchline.supervision.facts import Call, Prompt, Result, Step, Text, Turn
from touchline.supervision.limits import LIMITS
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.thrash import (
    Mark,
    Rule,
    current_loop,
    find_all,
    find_thrash,
    find_thrash_in,
    find_wandering,
    warnings_of,
)

Spec = tuple[str, str | None] | tuple[str, str | None, int]


def step(index: int, command: str, text: str | None, exit_code: int = 0, tool: str = "Bash", **more: Any) -> Step:
    call = Call(id=f"c{index}", tool=tool, args={"command": command, **more})
    if text is None:
        return Step(index=index, call=call)
    digest = hashlib.sha256(text.encode()).hexdigest()
    result = Result(call_id=call.id, text=text, digest=digest, failed=exit_code != 0, exit_code=exit_code)
    return Step(index=index, call=call, result=result)


def run(*specs: Spec) -> list[Step]:
    return [step(i, s[0], s[1], s[2] if len(s) > 2 else 0) for i, s in enumerate(specs)]


def long(topic: str) -> str:
    return f"{topic}: " + ", ".join(f"{topic} line {n}" for n in range(40))


# the same call again


def test_a_call_is_refused_before_it_runs_a_fourth_time() -> None:
    steps = run(("ls", "a"), *[("make", "no rule to make target", 2)] * 3, ("make", None))
    thrash = find_thrash(steps)
    assert thrash is not None
    assert (thrash.rule, thrash.grade, thrash.refused) == (Rule.REPEAT, "loop", True)
    assert (thrash.began, thrash.at, thrash.calls) == (1, 4, (1, 2, 3))
    assert "make" in thrash.message
    assert thrash.detail == "no rule to make target"


def test_it_is_a_loop_when_the_fourth_result_is_the_same_and_nothing_could_be_refused() -> None:
    watch = ThrashWatch()
    found = [watch.after(s) for s in run(*[("git status", "clean")] * 4)]
    assert found[:2] == [None, None]
    assert found[2] is not None
    assert found[2].grade == "warning"
    assert found[3] is not None
    assert (found[3].rule, found[3].grade, found[3].refused, found[3].began) == (Rule.REPEAT, "loop", False, 0)


def test_three_times_the_same_is_only_warned_of() -> None:
    steps = run(*[("git status", "clean")] * 3, ("ls", "a"))
    assert find_thrash(steps) is None
    assert [w.rule for w in warnings_of(steps)] == [Rule.REPEAT]


def test_another_call_in_between_ends_the_repetition() -> None:
    again = [("make", "no rule", 2)] * 3
    assert find_thrash(run(*again, ("ls", "Makefile.in"), *again)) is None


def test_the_same_call_with_changing_results_is_no_repetition() -> None:
    assert find_thrash(run(*[("pytest", f"{9 - n} failed, {n} passed", 1) for n in range(9)])) is None


def test_results_that_differ_only_in_a_duration_are_the_same() -> None:
    steps = run(*[("pytest", f"3 failed in 0.{n}1s", 1) for n in range(1, 5)])
    thrash = find_thrash(steps)
    assert thrash is not None
    assert (thrash.rule, thrash.at) == (Rule.REPEAT, 3)


def test_retrying_once_is_healthy() -> None:
    steps = run(("curl x", "connection refused", 7), ("curl x", "connection refused", 7), ("ls", "a"))
    assert find_thrash(steps) is None


def test_a_command_described_in_other_words_is_the_same_command() -> None:
    described = ["Run the tests", "Run the tests again", "Try once more", "See whether it works now"]
    thrash = find_thrash([step(n, "make", "no rule", 2, description=words) for n, words in enumerate(described)])
    assert thrash is not None
    assert (thrash.rule, thrash.at) == (Rule.REPEAT, 3)
    assert thrash.message.startswith("Bash: make is about to run again"), "and is told without them"


def test_paging_through_a_file_is_not_repeating() -> None:
    pages = [step(n, "read", long("same text"), tool="Read", offset=100 * n) for n in range(7)]
    assert find_thrash(pages) is None


def test_a_missing_result_equals_nothing() -> None:
    assert find_thrash(run(*[("make", None)] * 12)) is None


# waiting


def test_polling_tools_are_exempt() -> None:
    steps = [step(n, "job 7", "running", tool="BashOutput") for n in range(30)]
    assert find_all(steps) == ()


def test_the_same_calls_by_another_tool_are_not() -> None:
    assert find_thrash([step(n, "job 7", "running", tool="JobInfo") for n in range(30)]) is not None


def test_a_caller_declares_its_own_polling_tools() -> None:
    steps = [step(n, "job 7", "running", tool="JobInfo") for n in range(30)]
    assert find_thrash(steps, polling=frozenset({"JobInfo"})) is None


def test_looking_again_after_each_wait_is_healthy() -> None:
    steps = []
    for n in range(0, 12, 2):
        steps.append(step(n, "gh run view 7", "in progress"))
        steps.append(step(n + 1, "60", "", tool="Sleep"))
    assert find_thrash(steps) is None


@pytest.mark.parametrize("words", ["HTTP 429 Too Many Requests", "error: 503 Service Unavailable", "status code: 529"])
def test_an_outage_is_not_a_loop(words: str) -> None:
    assert find_all(run(*[("curl api", words, 22)] * 8)) == ()


def test_a_number_that_happens_to_be_503_is_no_outage() -> None:
    assert find_thrash(run(*[("pytest", "assert 503 == 200", 1)] * 4)) is not None


def test_calls_that_do_nothing_are_the_same_call() -> None:
    thrash = find_thrash(run((":", ""), ("true", ""), (" ", ""), (":", "")))
    assert thrash is not None
    assert thrash.rule is Rule.REPEAT


def test_short_silent_commands_that_differ_are_not() -> None:
    assert find_thrash(run(*[(f"sed -i s/a/b/ file{n}.py", "") for n in range(30)])) is None


# cycles


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_a_cycle_is_refused_before_its_third_round_closes(length: int) -> None:
    round_ = [(f"step {n}", f"answer {n}") for n in range(length)]
    thrash = find_thrash(run(("ls", "a"), *round_ * 3), limits=replace(LIMITS, nothing_new=()))
    assert thrash is not None
    assert (thrash.rule, thrash.refused, thrash.began, thrash.at) == (Rule.CYCLE, True, 1, 3 * length)


def test_a_cycle_is_known_afterwards_too() -> None:
    watch = ThrashWatch()
    round_: list[Spec] = [("edit", "done"), ("test", "1 failed", 1)]
    found = [watch.after(s) for s in run(*round_ * 3)]
    assert [f.rule for f in found if f and f.grade == "loop"] == [Rule.CYCLE]


def test_edit_and_test_with_changing_results_is_no_cycle() -> None:
    rounds: list[list[Spec]] = [[(f"edit {n}", "done"), ("test", f"{9 - n} failed", 1)] for n in range(9)]
    assert find_thrash(run(*[spec for round_ in rounds for spec in round_])) is None


def test_read_and_edit_of_different_things_is_no_cycle() -> None:
    rounds = [[("cat a.py", long(f"version {n}")), ("apply patch", f"hunk {n} applied")] for n in range(9)]
    assert find_thrash(run(*[spec for round_ in rounds for spec in round_])) is None


def test_two_rounds_are_no_cycle() -> None:
    assert find_thrash(run(("a", "1"), ("b", "2"), ("a", "1"), ("b", "2"), ("c", "3"))) is None


# few distinct calls, nothing new


def test_few_distinct_calls_in_no_order() -> None:
    steps = run(*[(name, long(name)) for name in "abcabbcaac"])
    thrash = find_thrash(steps, limits=replace(LIMITS, nothing_new=()))
    assert thrash is not None
    assert (thrash.rule, thrash.at, thrash.refused) == (Rule.FEW_DISTINCT, 9, False)


def test_few_calls_with_ever_new_results_are_not_few() -> None:
    steps = run(*[(name, long(f"{name}{n}")) for n, name in enumerate("abcabbcaac")])
    assert find_thrash(steps) is None


def test_nothing_new_in_most_of_the_last_calls() -> None:
    names = "abcdefgh"
    steps = run(*[(name, long(name)) for name in names], ("x", "1"), *[(name, long(name)) for name in "dacfbhge"])
    thrash = find_thrash(steps)
    assert thrash is not None
    assert (thrash.rule, thrash.grade, thrash.refused, thrash.at) == (Rule.NOTHING_NEW, "loop", False, 16)
    assert len(thrash.calls) == 8


def test_the_same_failure_from_other_calls_is_nothing_new() -> None:
    failure = "fatal: not a git repository (or any of the parent directories): .git"
    thrash = find_thrash(run(*[(f"git log -{n}", failure, 128) for n in range(12)]))
    assert thrash is not None
    assert thrash.rule is Rule.NOTHING_NEW


def test_searches_that_find_nothing_are_news() -> None:
    assert find_thrash(run(*[(f"grep -r word{n}", "", 1) for n in range(25)])) is None


def test_reading_everything_again_between_edits_is_healthy() -> None:
    rounds = [
        [(f"edit {n}", f"changed line {n}"), ("test", long("all passed")), (f"cat {n}", long(f"file {n}"))]
        for n in range(10)
    ]
    assert find_thrash(run(*[spec for round_ in rounds for spec in round_])) is None


def test_a_batch_of_edits_with_one_answer_is_healthy() -> None:
    assert find_thrash(run(*[(f"write file{n}", "The file was updated successfully.") for n in range(40)])) is None


def test_what_was_read_long_ago_may_be_read_again() -> None:
    files = [(f"cat {n}", long(f"file {n}")) for n in range(60)]
    assert find_thrash(run(*files, *files)) is None


# messages


def test_the_same_closing_message_three_times() -> None:
    words = "I have finished the work and everything that was asked for is in place now, thank you for your patience."
    thrash = find_thrash(run(("ls", "a")), final_texts=[words, words, f" {words}\n"])
    assert thrash is not None
    assert (thrash.rule, thrash.at, thrash.refused) == (Rule.SAME_MESSAGE, 0, False)


def test_twice_the_same_or_empty_messages_are_not() -> None:
    assert find_thrash([], final_texts=["Working on it.", "Working on it.", "Done.", "Working on it."]) is None
    assert find_thrash([], final_texts=["", "", "", " "]) is None


def talk(*answers: tuple[str, str]) -> Turn:
    events: list[Prompt | Call | Result | Text] = []
    for n, (command, words) in enumerate(answers):
        events.append(Prompt(text=f"request {n}"))
        if command:
            call = Call(id=f"c{n}", tool="Bash", args={"command": command})
            events += [call, Result(call_id=call.id, text=command, digest=command)]
        events.append(Text(text=words))
    return Turn(cli="claude", events=tuple(events))


def test_a_short_answer_after_new_work_each_time_is_healthy() -> None:
    assert find_thrash_in(talk(("make a", "Done."), ("make b", "Done."), ("make c", "Done."))) is None


def test_a_short_answer_with_no_work_at_all_is_not() -> None:
    thrash = find_thrash_in([talk(("", "Done.")), talk(("", "Done."), ("", "Done."))])
    assert thrash is not None
    assert (thrash.rule, thrash.at) == (Rule.SAME_MESSAGE, -1)


def test_turns_of_a_task_are_one_memory() -> None:
    turns = [talk(("make", f"try {n}")) for n in range(4)]
    thrash = find_thrash_in(turns)
    assert thrash is not None
    assert (thrash.rule, thrash.at) == (Rule.REPEAT, 3)


def test_a_persons_word_starts_calls_afresh() -> None:
    watch = ThrashWatch()
    steps = run(*[("make", "no rule", 2)] * 4)
    for s in steps[:3]:
        watch.after(s)
    assert watch.before(steps[3].call) is not None
    watch.told()
    assert watch.before(steps[3].call) is None


# turns


WORKED = [Mark(tokens=1_000, changed=True), Mark(tokens=1_200, passed=True), Mark(tokens=900, changed=True)]


def test_turns_that_bring_nothing_at_a_high_price_are_wandering() -> None:
    thrash = find_wandering([*WORKED, *[Mark(tokens=5_000)] * 5])
    assert thrash is not None
    assert (thrash.rule, thrash.began, thrash.at) == (Rule.WANDERING, 3, 7)


def test_reading_new_things_gets_more_patience_but_not_for_ever() -> None:
    assert find_wandering([*WORKED, *[Mark(tokens=5_000, learned=True)] * 9]) is None
    assert find_wandering([*WORKED, *[Mark(tokens=5_000, learned=True)] * 10]) is not None


def test_idle_turns_at_the_usual_price_or_without_a_norm_are_not_wandering() -> None:
    assert find_wandering([*WORKED, *[Mark(tokens=1_500)] * 30]) is None
    assert find_wandering([Mark(tokens=50_000, learned=True)] * 30) is None


def test_a_change_in_between_ends_the_idling() -> None:
    idle = [Mark(tokens=5_000)] * 4
    assert find_wandering([*WORKED, *idle, Mark(tokens=1_000, changed=True), *idle]) is None


def test_wandering_goes_on_until_something_is_brought() -> None:
    marks = [*WORKED, *[Mark(tokens=5_000)] * 7]
    thrash = find_wandering(marks)
    assert thrash is not None
    assert (thrash.began, thrash.at, thrash.calls) == (3, 9, tuple(range(3, 10)))
    assert "7 turns in a row" in thrash.message
    assert find_wandering([*marks, Mark(tokens=1_000, passed=True)]) is None


def test_a_turn_whose_price_nobody_told_is_no_norm() -> None:
    assert find_wandering([Mark(tokens=0, changed=True), *[Mark(tokens=5_000)] * 9]) is None


# warnings


def test_more_than_half_of_the_last_calls_failed() -> None:
    steps = run(*[(f"try {n}", f"bad {n}", 1 if n % 2 or n > 5 else 0) for n in range(10)])
    warnings = [w for w in warnings_of(steps) if w.rule is Rule.FAILURE_RATE]
    assert len(warnings) == 1
    assert (warnings[0].began, warnings[0].at) == (1, 6)


def test_exactly_half_is_not_warned_of() -> None:
    assert warnings_of(run(*[(f"try {n}", f"answer {n}", n % 2) for n in range(20)])) == ()


def test_the_same_call_failing_twice_in_a_row() -> None:
    steps = run(("a", "1"), ("b", "2"), ("make", "bad one", 2), ("make", "bad two", 2), ("c", "3"), ("d", "4"))
    assert [(w.rule, w.began, w.at) for w in warnings_of(steps)] == [(Rule.FAILING_AGAIN, 2, 3)]


def test_failing_again_after_something_else_is_not_warned_of() -> None:
    steps = run(("a", "1"), ("b", "2"), ("make", "bad", 2), ("edit", "ok"), ("make", "bad", 2), ("c", "3"))
    assert warnings_of(steps) == ()


def test_a_streak_is_told_once() -> None:
    assert [f.rule for f in find_all(run(*[("git status", "clean")] * 9)) if f.grade == "loop"] == [Rule.REPEAT]


# the loop that still goes on


def test_a_loop_at_the_end_is_current_and_one_left_behind_is_not() -> None:
    looping = [("make", "no rule to make target", 2)] * 5
    current = current_loop(run(*looping))
    assert current is not None
    assert (current.rule, current.at) == (Rule.REPEAT, 4)
    assert find_thrash(run(*looping, ("ls", "Makefile.in"))) is not None
    assert current_loop(run(*looping, ("ls", "Makefile.in"))) is None
    assert current_loop([]) is None
