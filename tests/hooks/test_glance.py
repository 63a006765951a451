"""The quick look may doubt for nothing, but must never pass over what the rules would find."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.digests import digest
from touchline.hooks import glance
from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.limits import LIMITS
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.sameness import thrash_data
from touchline.supervision.values import replace

TEXTS = [
    "",
    "ok",
    "error: no such file",
    "long news " * 30,
    "took 1.5 s",
    "took 2.25 s",
    "1 s",
    "2 s",
    "HTTP 429 Too Many Requests",
]
WAITS = ["sleep 3; ls", "sleep 1", "docker ps"]
calls = st.tuples(
    st.sampled_from(["Bash", "Read", "BashOutput", "browser_click"]),
    st.sampled_from(["ls", "cat a", ":", "true", "pytest -q tests/test_a.py", *WAITS, "x" * 40_000]),
    st.sampled_from(TEXTS) | st.integers(0, 400).map(lambda n: f"news number {n} " * 20),
    st.booleans(),
    st.sampled_from([{}, {"description": "Look"}, {"description": "Look around once more"}]),
)


numbers = st.fixed_dictionaries(
    {},
    optional={
        "same_result": st.integers(1, 6),
        "same_wait": st.integers(1, 12),
        "cycle_longest": st.integers(1, 8),
        "cycle_repeats": st.integers(2, 5),
        "few_distinct": st.tuples(st.integers(0, 6), st.integers(1, 30)),
        "nothing_new": st.lists(st.tuples(st.integers(1, 12), st.integers(1, 30)), max_size=2).map(tuple),
        "news_memory": st.integers(1, 60),
        "failure_window": st.integers(1, 30),
        "failure_rate": st.sampled_from([0.0, 0.2, 0.9]),
    },
)


@given(made=st.lists(calls, max_size=70), spoken=st.sets(st.integers(0, 70), max_size=2), set_by_a_person=numbers)
@settings(max_examples=300, deadline=None)
def test_nothing_that_the_rules_find_is_passed_over(
    made: list[Any], spoken: set[int], set_by_a_person: dict[str, Any]
) -> None:
    compare(made, spoken, set_by_a_person)


@given(
    work=st.lists(calls, min_size=1, max_size=4),
    waited=st.lists(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(TEXTS)), max_size=5), max_size=30),
    set_by_a_person=numbers,
)
@settings(max_examples=200, deadline=None)
def test_waits_between_hide_nothing(work: list[Any], waited: list[Any], set_by_a_person: dict[str, Any]) -> None:
    made: list[Any] = []
    for index, waits in enumerate(waited):
        made += [("Bash", f"sleep {number}", text, False, {}) for number, text in waits]
        made.append(work[index % len(work)])
    compare(made, set(), set_by_a_person)


def test_a_long_wait_hides_nothing_either() -> None:
    wait: Any = ("Bash", "sleep 1", "", False, {})
    check: Any = ("Bash", "pytest -q", "1 failed", True, {})
    look: Any = ("Bash", "cat a", "long news", False, {})
    found = compare([*[check, *[wait] * 70] * 4, check], set(), {})
    assert 71 in found, "the second failure, which is warned of"
    assert compare([*[check, *[wait] * 70, look, *[wait] * 70] * 4], set(), {"same_wait": 1_000})


def test_small_windows_hide_no_failure() -> None:
    made: list[Any] = [("Bash", f"cat {n}", f"news {n}", n == 2, {}) for n in range(3)]
    assert compare(made, set(), {"few_distinct": (0, 1), "nothing_new": (), "failure_rate": 0.0}) == [2]


def compare(made: list[Any], spoken: set[int], set_by_a_person: dict[str, Any]) -> list[int]:
    """The calls in which the rules found something."""
    watch = ThrashWatch(limits=replace(LIMITS, **set_by_a_person))
    state: dict[str, Any] = {"limits": set_by_a_person}
    every: list[int] = []
    for index, (tool, command, text, failed, more) in enumerate(made):
        if index in spoken:
            watch.told()
            glance.forget(state)
        args = glance.kept_args({"command": command, **more})
        call = Call(id=str(index), tool=tool, args=args)
        if watch.before(call, index=index) is not None:
            assert glance.may_refuse(state, glance.call_key(tool, args))
        result = Result(call_id=str(index), text=text, digest=digest(text), failed=failed)
        found = watch.after(Step(index=index, call=call, result=result))
        doubtful = glance.take(state, glance.call_key(tool, args), digest(text), failed)
        assert doubtful or found is None, found
        every += [index] if found is not None else []
    return every


@given(made=st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=20, max_size=60))
@settings(max_examples=50, deadline=None)
def test_different_calls_that_end_well_are_never_doubted(made: list[tuple[int, bool]]) -> None:
    """Else the rules would be loaded at every call."""
    state = dict[str, Any]()
    for index, (number, _) in enumerate(made):
        key = glance.call_key("Read", {"file_path": f"/w/{index}.py", "offset": number})
        assert not glance.may_refuse(state, key)
        assert not glance.take(state, key, digest(f"{index}"), False)


def test_the_numbers_are_those_of_the_rules() -> None:
    assert {name: getattr(LIMITS, name) for name in glance.NUMBERS} == glance.NUMBERS
    assert all(len(word) <= glance.IDLE_CHARS for word in thrash_data("sameness")["idle"])
