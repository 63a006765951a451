"""The watch that live sessions and hooks keep: nothing it sees makes it fail, and its state survives JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.thrash import Thrash, find_all, find_thrash

# Few different calls and results, so that loops, cycles and near misses of them are common.
COMMANDS = st.sampled_from(["ls", "make", "pytest", "cat a", ":", "git status", "sleep 3; ls"])
TEXTS = st.sampled_from(
    ["", "ok", "1 failed in 0.12s", "1 failed in 0.34s", "x" * 300, "HTTP 503 unavailable", "é\ud800"]
)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    block = draw(st.lists(st.tuples(COMMANDS, st.none() | TEXTS, st.booleans()), min_size=1, max_size=6))
    more = draw(st.lists(st.tuples(COMMANDS, st.none() | TEXTS, st.booleans()), max_size=20))
    specs = [*block * draw(st.integers(1, 5)), *more]
    steps = []
    for index, (command, text, failed) in enumerate(specs):
        tool = "BashOutput" if draw(st.integers(0, 9)) == 0 else "Bash"
        call = Call(id=str(index), tool=tool, args={"command": command})
        result = text if text is None else Result(call_id=call.id, text=text, digest=repr(text), failed=failed)
        steps.append(Step(index=index, call=call, result=result))
    return steps


def feed(watch: ThrashWatch, steps: list[Step]) -> list[Thrash | None]:
    return [found for s in steps for found in (watch.before(s.call, index=s.index), watch.after(s))]


@given(steps=histories(), cut=st.integers(0, 60), closing=TEXTS)
def test_a_watch_kept_as_json_goes_on_as_if_nothing_had_happened(steps: list[Step], cut: int, closing: str) -> None:
    whole, first = ThrashWatch(), ThrashWatch()
    feed(whole, steps[:cut])
    feed(first, steps[:cut])
    for watch in (whole, first):
        watch.said(closing)
    second = ThrashWatch.from_json(json.loads(json.dumps(first.to_json())))
    assert feed(second, steps[cut:]) == feed(whole, steps[cut:])
    assert [second.said(closing) for _ in range(3)] == [whole.said(closing) for _ in range(3)]
    assert second.to_json() == whole.to_json()


@given(steps=histories())
def test_find_thrash_is_the_first_loop_of_a_watch_fed_one_by_one(steps: list[Step]) -> None:
    found = [t for t in feed(ThrashWatch(), steps) if t is not None and t.grade == "loop"]
    assert find_thrash(steps) == (found[0] if found else None)


@given(steps=histories())
def test_asking_before_a_call_changes_nothing(steps: list[Step]) -> None:
    asked, silent = ThrashWatch(), ThrashWatch()
    for step in steps:
        asked.before(step.call)
        asked.before(steps[0].call)
        assert asked.after(step) == silent.after(step)


@given(steps=histories())
def test_evidence_lies_between_beginning_and_finding(steps: list[Step]) -> None:
    for thrash in find_all(steps):
        assert -1 <= thrash.began <= thrash.at < len(steps)
        assert all(call <= thrash.at for call in thrash.calls)
        assert thrash.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    calls=st.lists(st.tuples(st.text(), st.dictionaries(st.text(), JSON, max_size=3), st.text()), max_size=12),
    words=st.text(),
)
def test_no_call_result_or_message_makes_it_raise(calls: list[tuple[str, dict[str, Any], str]], words: str) -> None:
    watch = ThrashWatch()
    for index, (tool, args, text) in enumerate(calls * 2):
        call = Call(id=str(index), tool=tool, args=args)
        watch.before(call)
        watch.after(Step(index=index, call=call, result=Result(call_id=call.id, text=text, digest=text, failed=True)))
    watch.said(words)
    json.dumps(watch.to_json())


@settings(max_examples=200)
@given(state=JSON, damage=st.dictionaries(st.sampled_from(list(ThrashWatch().to_json())), JSON, max_size=3))
def test_a_damaged_state_is_a_usable_watch(state: object, damage: dict[str, object]) -> None:
    call = Call(id="1", tool="Bash", args={"command": "ls"})
    result = Result(call_id="1", text="a", digest="a")
    for kept in (state, {**ThrashWatch().to_json(), **damage}):
        watch = ThrashWatch.from_json(kept)
        watch.before(call)
        watch.after(Step(index=0, call=call, result=result))
        watch.said("done")
        json.dumps(watch.to_json())


def test_memory_stays_bounded() -> None:
    watch = ThrashWatch()
    sizes = []
    for index in range(3_000):
        call = Call(id=str(index), tool="Bash", args={"command": f"cat {index}"})
        text = f"{index} " * 200
        watch.after(Step(index=index, call=call, result=Result(call_id=call.id, text=text, digest=str(index))))
        if index % 1_000 == 999:
            sizes.append(len(json.dumps(watch.to_json())))
    assert max(sizes) < 12_000
    assert sizes[-1] < 1.1 * sizes[0]
