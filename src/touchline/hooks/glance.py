"""Can any thrash rule find something now? Asked before the rules are loaded, which would take longer than all the rest.

Looks at plain keys alone and errs on one side only: it may say yes for nothing, but never no where
`touchline.supervision.loops` would find something. The numbers are those of `limits`, which tests hold to it; what a
person set instead stands in the state.
"""

from __future__ import annotations

from touchline.digests import digest
from touchline.plain_json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBERS: dict[str, Any] = {
    "same_result": 3,
    "same_wait": 60,
    "cycle_longest": 5,
    "cycle_repeats": 3,
    "few_distinct": (3, 10),
    "nothing_new": ((8, 10), (12, 20)),
    "news_memory": 50,
    "failure_window": 10,
    "failure_rate": 0.5,
}
ARGS_CHARS = 32_000
"""Longer arguments, such as a file's whole content, are kept as their beginning and a digest."""
KEPT = 200
"""So many calls and answers are remembered at least."""
IDLE_CHARS = 8
"""No word for doing nothing is longer; calls with only such values count as one call."""
_BLANK = frozenset(digest(blank) for blank in ("", "\n"))


def kept_args(args: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments as the journal keeps them: bounded, and different wherever the originals are."""
    written = dumps(args)
    return args if len(written) <= ARGS_CHARS else {"input": f"{written[:4_000]} digest {digest(written)}"}


def call_key(tool: str, args: dict[str, Any]) -> str:
    """The same for calls that the rules hold for the same."""
    if "description" in args and "command" in args:
        args = {name: value for name, value in args.items() if name != "description"}
    values = args.values()
    if values and all(isinstance(v, str) and len(v.strip()) <= IDLE_CHARS for v in values):
        return "idle"
    return digest(f"{tool}\0{dumps(args, sort_keys=True)}")


def may_refuse(state: dict[str, Any], key: str) -> bool:
    """Could a rule refuse the call with this key, before it runs?"""
    tail: dict[str, list[int]] = state.get("tail", {})
    times = tail[key][0] if key in tail else 0
    if not times:
        return False
    numbers = _numbers(state)
    if times >= numbers["same_result"]:
        return True
    rounds = int(numbers["cycle_repeats"]) - 1
    return times >= rounds and sum(each for each, _ in tail.values()) >= 2 * rounds


def take(state: dict[str, Any], key: str, result: str, failed: bool) -> bool:
    """Remember a finished call. True when a rule could find something in it."""
    known: dict[str, int] = state.setdefault("known", {})
    now = int(state.get("calls", 0))
    numbers = _numbers(state)
    oldest = now - numbers["news_memory"]
    # A call seen before may have told the same in other figures, so its key alone makes it doubtful.
    stale = any(known.get(each, oldest - 1) >= oldest for each in (key, result))
    soft = key in known or result in known or result in _BLANK
    for each in (key, result):
        known.pop(each, None)
        known[each] = now
    while len(known) > max(4 * numbers["news_memory"], KEPT):
        del known[next(iter(known))]
    _note(state, key, failed, soft, numbers)
    state["calls"] = now + 1
    # Which calls wait is for the rules to say; where all told something new, no wait was in vain.
    state["stale"] = int(state.get("stale", 0)) + 1 if stale else 0
    return state["stale"] >= numbers["same_wait"] - 1 or _may_find(state, key, failed, stale, numbers)


def _note(state: dict[str, Any], key: str, failed: bool, soft: bool, numbers: dict[str, Any]) -> None:
    """A wait that told nothing new stands between no two calls, and only the rules know which calls wait.

    So all that tells nothing new is soft: it may count or not. Only what is surely among the calls, since it told
    something, ends what went before.
    """
    segments: list[int] = state.setdefault("segments", [0])
    if soft:
        segments[-1] += 1
    else:
        segments.append(1)
        state["tail"] = {}
    # How many calls from one that told something up to the next.
    del segments[: -_reach(numbers)]
    tail: dict[str, list[int]] = state.setdefault("tail", {})
    times, failures = tail.pop(key, (0, 0))
    tail[key] = [times + 1, failures + int(failed)]
    while len(tail) > KEPT:
        del tail[next(iter(tail))]
    failing: list[int] = state.setdefault("failing", [])
    if failed or not soft:
        failing.append(int(failed))
        del failing[: -numbers["failure_window"]]


def forget(state: dict[str, Any]) -> None:
    """A person spoke: what comes now may repeat for a reason."""
    state["segments"], state["tail"], state["failing"] = [0], {}, []
    state["stale"] = 0


def _numbers(state: dict[str, Any]) -> dict[str, Any]:
    """With what a person set; `limits_kept` puts it there."""
    return {**NUMBERS, **state.get("limits", {})}


def _reach(numbers: dict[str, Any]) -> int:
    """As many calls that told something as any rule looks back over."""
    return int(max(3, *(window for _, window in (*numbers["nothing_new"], numbers["few_distinct"])))) + 1


def _may_find(state: dict[str, Any], key: str, failed: bool, stale: bool, numbers: dict[str, Any]) -> bool:
    segments, (times, failures) = state["segments"], state["tail"][key]
    if failed:
        if failures > 1:
            return True
        failing = state["failing"]
        if sum(segments) >= 3 and sum(failing) > numbers["failure_rate"] * len(failing):
            return True
    if times >= min(numbers["same_result"], numbers["cycle_repeats"]):
        return True
    if not stale:
        return False
    few, window = numbers["few_distinct"]
    if sum(segments[-few - 1 :]) >= window:
        return True
    for many, window in numbers["nothing_new"]:
        span = segments[min(many - window, 0) - 1 :]
        if sum(span) - len(span) + 1 >= many:
            return True
    return False
