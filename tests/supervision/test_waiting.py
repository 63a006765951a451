"""Who waits says so, and may go on; who only repeats may not. And nobody is refused for what was not quite the same."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.limits import LIMITS
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.patterns import Rule, Thrash
from touchline.supervision.steering import next_measure, refusal, reminder
from touchline.supervision.thrash import find_all, find_thrash
from touchline.supervision.waiting import LINE_CHARS, waits


def step(index: int, text: str, /, *, tool: str = "Bash", failed: bool = False, **args: Any) -> Step:
    call = Call(id=f"c{index}", tool=tool, args=args)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Step(index=index, call=call, result=Result(call_id=call.id, text=text, digest=digest, failed=failed))


def same(times: int, text: str, /, **more: Any) -> list[Step]:
    return [step(n, text, **more) for n in range(times)]


def refused(steps: list[Step]) -> list[int]:
    """The calls that would not have been run."""
    watch = ThrashWatch()
    found: list[Thrash | None] = []
    for each in steps:
        found.append(watch.before(each.call, index=each.index))
        watch.after(each)
    return [thrash.at for thrash in found if thrash is not None]


# shell lines


WAITING = [
    "sleep 30; gh pr checks 12",
    "sleep 5 && curl -fsS http://localhost:8000/health",
    "cd /w && sleep 60 && tail -3 build.log",
    "until curl -f http://localhost; do sleep 2; done",
    "while ! nc -z db 5432; do sleep 1; done; echo up",
    "bash -lc 'sleep 30; gh pr checks 12'",
    "make status\nsleep 10",
    "(sleep 5; ls out)",
    "kubectl get pods",
    "kubectl -n prod --context=a get pods",
    "sudo systemctl status nginx",
    "GH_TOKEN=x gh --repo a/b run view 7",
    "gh run watch 7 --exit-status",
    "timeout 30 tail -f build.log",
    "docker compose -f a.yml ps",
    "sleep 5 && curl -s localhost:8080/health",
    "until curl -sf localhost; do sleep 1; done",
    "for n in 1 2 3; do kubectl get pods; sleep 2; done",
    "gh run view 7 --log > /tmp/run.log; tail -3 /tmp/run.log",
]
NOT_WAITING = [
    "gh pr create --fill",
    "kubectl apply -f a.yml",
    "docker run image",
    "grep -n 'sleep 5' a.py",
    "echo sleep 5",
    "pytest -k sleep",
    "./sleep-tool",
    "git log --grep=sleep",
    "python app.py & sleep 2; curl localhost",
    "x" * LINE_CHARS + "; sleep 5",
    "pytest -q; sleep 0",
    "npm test || sleep 1",
    "docker ps; pytest",
    "bash -lc 'sleep 1; pytest -q'",
    "sleep 1; sed -i s/a/b/ a.py",
    "sleep 1 && git commit -am x && git push",
    "ruff check . ; sleep 1",
    "echo '; sleep 1' ; make",
    "grep -n 'x; sleep 3' a.py",
]


@pytest.mark.parametrize("line", WAITING)
@pytest.mark.parametrize("failed", [False, True], ids=["ended well", "failed"])
def test_a_shell_line_that_waits_may_wait(line: str, failed: bool) -> None:
    assert find_all(same(LIMITS.same_wait - 1, "build pending", command=line, failed=failed)) == ()


@pytest.mark.parametrize("line", NOT_WAITING)
def test_a_shell_line_that_does_not_may_not(line: str) -> None:
    assert refused(same(4, "build pending", command=line)) == [3]


@pytest.mark.parametrize("name", ["command", "cmd", "script", "commands"])
def test_a_line_in_a_list_is_read_too(name: str) -> None:
    call = Call(id="", tool="shell", args={name: ["bash", "-lc", "sleep 30; gh pr checks 12"]})
    assert waits(call)
    assert not waits(replace(call, args={name: ["bash", "-lc", "make"]}))
    assert not waits(replace(call, args={name: 7}))
    assert not waits(replace(call, args={name: ["grep", "-n", "x; sleep 3", "a.py"]}))
    assert not waits(replace(call, args={name: ["bash", "-lc", "sleep 30; pytest"]}))


def test_looking_and_waiting_in_turn_is_no_cycle() -> None:
    lines = ["sleep 30", "gh run view 7"]
    assert find_all([step(n, "in progress", command=lines[n % 2]) for n in range(40)]) == ()


def in_turn(*lines: tuple[str, str]) -> list[Step]:
    return [step(n, lines[n % len(lines)][1], command=lines[n % len(lines)][0]) for n in range(16)]


@pytest.mark.parametrize("wait", [("sleep 1", ""), ("docker ps", "CONTAINER ID"), ("sleep 2; date", "Monday")])
def test_a_wait_between_hides_no_repeat(wait: tuple[str, str]) -> None:
    assert refused(in_turn(("pytest -q", "1 failed"), wait))[0] in (6, 8)
    assert refused(in_turn(("pytest -q", "1 failed"), wait, ("cat a", "a"), wait))[0] in (10, 12)


def test_waits_of_another_length_hide_none_either() -> None:
    steps = [step(n, "1 failed", command="pytest") if n % 2 else step(n, "", command=f"sleep {n}") for n in range(9)]
    assert refused(steps) == [7]


def test_news_or_a_press_between_ends_what_went_before() -> None:
    looks = [step(n, "the page", tool="browser_snapshot") for n in range(20)]
    assert refused([step(n, "ok", tool="browser_click") if n % 2 else looks[n] for n in range(20)]) == []
    logs = [step(n, f"line {n} of the log", tool="BashOutput") for n in range(20)]
    assert refused([logs[n] if n % 2 else step(n, "down", command="curl localhost") for n in range(20)]) == []


# but not for ever


def waited(times: int, **more: Any) -> list[Thrash]:
    steps = same(times, "build pending", command="sleep 30; gh pr checks 12", **more)
    return [thrash for thrash in find_all(steps) if thrash.rule is Rule.WAITING]


def test_a_long_wait_in_which_nothing_comes_is_reminded_of_and_never_refused() -> None:
    assert waited(LIMITS.same_wait - 1) == []
    (found,) = waited(LIMITS.same_wait + 5)
    assert (found.grade, found.refused, found.began, found.at) == ("loop", False, 0, LIMITS.same_wait - 1)
    assert found.message.startswith("60 calls that wait")
    assert "gh pr checks 12" in found.message
    assert next_measure(found, ()) == "remind"
    assert reminder(found) is not None
    assert reminder(found, reminded=found) is None, "once per streak"
    assert refused(same(LIMITS.same_wait + 5, "build pending", command="sleep 9; look")) == []


def test_it_comes_up_again_only_after_as_many_more() -> None:
    watch = ThrashWatch()
    found = [watch.after(each) for each in same(3 * LIMITS.same_wait, "pending", command="sleep 30; ls")]
    assert [thrash.at for thrash in found if thrash] == [59, 119, 179]


@pytest.mark.parametrize("tool", ["BashOutput", "browser_click"])
def test_whoever_waits_or_presses_is_counted(tool: str) -> None:
    (found,) = find_all(same(70, "running", tool=tool, command="job 7"))
    assert (found.rule, found.at) == (Rule.WAITING, 59)


def test_waiting_and_looking_in_turn_is_counted_too() -> None:
    lines = ["sleep 30", "gh run view 7"]
    (found,) = find_all([step(n, "in progress", command=lines[n % 2]) for n in range(70)])
    assert (found.rule, found.began, found.at) == (Rule.WAITING, 1, 60)


@pytest.mark.parametrize("news", [step(40, "done: 1 of 2", command="sleep 30; look"), step(40, "x", command="cat x")])
def test_something_new_in_between_begins_the_count_anew(news: Step) -> None:
    steps = same(90, "pending", command="sleep 30; look")
    assert find_all([*steps[:40], news, *steps[41:]]) == ()


def test_a_person_who_speaks_begins_it_anew() -> None:
    watch = ThrashWatch()
    steps = same(90, "pending", command="sleep 30; look")
    found = [watch.after(each) for each in steps[:45]]
    watch.told()
    assert not any(found + [watch.after(each) for each in steps[45:]])


def test_a_clock_in_the_answer_is_nothing_new() -> None:
    steps = [step(n, f"12:{n:02}:07 pending", command="sleep 60; look") for n in range(60)]
    assert [thrash.rule for thrash in find_all(steps)] == [Rule.WAITING]


# presses on something outside


PRESSES: list[dict[str, Any]] = [
    {"tool": "mcp__playwright__browser_press_key", "key": "ArrowDown"},
    {"tool": "browser_click", "element": "Next"},
    {"tool": "browserScroll", "by": 300},
    {"tool": "mcp__chrome-devtools__wait_for", "text": "Ready"},
    {"tool": "computer", "action": "left_click", "coordinate": [1, 2]},
    {"tool": "computer", "action": "key", "text": "Down"},
]


@pytest.mark.parametrize("press", PRESSES, ids=[each["tool"] for each in PRESSES])
def test_pressing_again_is_no_repeat(press: dict[str, Any]) -> None:
    assert find_all(same(20, "ok", **press)) == ()


@pytest.mark.parametrize("press", PRESSES, ids=[each["tool"] for each in PRESSES])
def test_pressing_what_is_not_there_is(press: dict[str, Any]) -> None:
    assert refused(same(4, "no such element", failed=True, **press)) == [3]


@pytest.mark.parametrize(
    "look",
    [{"tool": "browser_snapshot"}, {"tool": "get_key", "name": "a"}, {"tool": "computer", "action": "screenshot"}],
    ids=["snapshot", "get_key", "screenshot"],
)
def test_looking_again_is(look: dict[str, Any]) -> None:
    assert refused(same(4, "the same page", **look)) == [3]


# figures


def test_a_measurement_is_never_the_same() -> None:
    assert find_all([step(n, f"{n} ms", command="./bench") for n in range(9)]) == ()
    assert find_all([step(n, f"{n} ms\n{2 * n} s\n", command="./bench") for n in range(9)]) == ()


def test_a_measurement_that_does_not_change_is() -> None:
    assert refused(same(4, "7 ms", command="./bench")) == [3]


def test_results_that_differ_in_figures_are_reminded_of_but_not_refused() -> None:
    steps = [step(n, f"1 failed in 0.{n}2s", command="pytest", failed=True) for n in range(5)]
    assert refused(steps) == []
    found = find_thrash(steps)
    assert found is not None
    assert (found.rule, found.refused, found.at) == (Rule.REPEAT, False, 3)


def test_once_they_are_equal_to_the_letter_it_is_refused() -> None:
    texts = ["in 0.1s", "in 0.2s", "in 0.3s", "in 0.3s", "in 0.3s", "in 0.3s"]
    watch = ThrashWatch()
    steps = [step(n, f"1 failed {text}", command="pytest", failed=True) for n, text in enumerate(texts)]
    assert refused(steps) == [5]
    for each in steps[:-1]:
        watch.after(each)
    found = ThrashWatch.from_json(watch.to_json()).before(steps[-1].call)
    assert found is not None
    assert "the last 3 runs" in found.message, "which is what was the same"
    assert found.calls == (2, 3, 4)


def test_a_cycle_whose_figures_differ_is_not_refused_either() -> None:
    def rounds(figure: str) -> list[Step]:
        return [
            step(n, f"took {figure.format(n=n)}", command=f"step {n % 2}", failed=True) for n in range(6)
        ]  # fmt: skip

    assert refused(rounds("1 s")) == [5]
    assert refused(rounds("{n} s")) == []
    found = find_thrash(rounds("{n} s"))
    assert found is not None
    assert (found.rule, found.refused) == (Rule.CYCLE, False)


def test_a_refusal_claims_no_more_than_is_known_and_says_how_to_wait() -> None:
    watch = ThrashWatch()
    steps = same(4, "pending", command="ci status")
    for each in steps[:3]:
        watch.after(each)
    found = watch.before(steps[3].call)
    assert found is not None
    assert "Nothing has changed" not in refusal(found)
    assert "`sleep 60; COMMAND`" in refusal(found)
    assert watch.before(Call(id="", tool="Bash", args={"command": "sleep 60; ci status"})) is None
