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
IDLE_CHARS = 8
"""No word for doing nothing is longer; calls with only such values count as one call."""


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
    keys = [seen[0] for seen in state.get("last", ())]
    if not keys:
        return False
    numbers = _numbers(state)
    if keys[-1] == key and _run(keys, 1) >= numbers["same_result"] - 1:
        return True
    return any(
        len(keys) >= k and keys[-k] == key and _run(keys, k) >= k * (numbers["cycle_repeats"] - 1) - 1
        for k in range(2, numbers["cycle_longest"] + 1)
    )


def take(state: dict[str, Any], key: str, result: str, failed: bool) -> bool:
    """Remember a finished call. True when a rule could find something in it."""
    last: list[list[Any]] = state.setdefault("last", [])
    known: dict[str, int] = state.setdefault("known", {})
    now = int(state.get("calls", 0))
    numbers = _numbers(state)
    oldest = now - numbers["news_memory"]
    # A call seen before may have told the same in other figures, so its key alone makes it doubtful.
    stale = any(known.get(each, oldest - 1) >= oldest for each in (key, result))
    for each in (key, result):
        known.pop(each, None)
        known[each] = now
    while len(known) > 4 * numbers["news_memory"]:
        del known[next(iter(known))]
    last.append([key, int(failed), int(stale)])
    del last[: -_reach(numbers)]
    state["calls"] = now + 1
    # Which calls wait is for the rules to say; where all told something new, no wait was in vain.
    state["stale"] = int(state.get("stale", 0)) + 1 if stale else 0
    return state["stale"] >= numbers["same_wait"] - 1 or _may_find(last, numbers)


def forget(state: dict[str, Any]) -> None:
    """A person spoke: what comes now may repeat for a reason."""
    state["last"] = []
    state["stale"] = 0


def _numbers(state: dict[str, Any]) -> dict[str, Any]:
    """With what a person set; `limits_kept` puts it there."""
    return {**NUMBERS, **state.get("limits", {})}


def _reach(numbers: dict[str, Any]) -> int:
    """As far as any rule looks back."""
    windows = [window for _, window in (*numbers["nothing_new"], numbers["few_distinct"])]
    rounds = numbers["cycle_longest"] * numbers["cycle_repeats"]
    return int(max(numbers["same_result"] + 1, rounds, numbers["failure_window"], *windows))


def _may_find(last: list[list[Any]], numbers: dict[str, Any]) -> bool:
    keys = [seen[0] for seen in last]
    _, failed, stale = last[-1]
    if failed:
        if len(last) > 1 and last[-2][1] and keys[-2] == keys[-1]:
            return True
        recent = [seen[1] for seen in last[-numbers["failure_window"] :]]
        if len(recent) >= 3 and sum(recent) > numbers["failure_rate"] * len(recent):
            return True
    if _run(keys, 1) >= numbers["same_result"] - 1:
        return True
    rounds = numbers["cycle_repeats"] - 1
    if any(_run(keys, k) >= k * rounds for k in range(2, numbers["cycle_longest"] + 1)):
        return True
    if not stale:
        return False
    few, window = numbers["few_distinct"]
    if len(keys) >= window and len(set(keys[-window:])) <= few:
        return True
    return any(sum(seen[2] for seen in last[-window:]) >= many for many, window in numbers["nothing_new"])


def _run(keys: list[str], k: int) -> int:
    """How many calls in a row, up to the last, equal the one k calls before."""
    count = 0
    while count + k < len(keys) and keys[-1 - count] == keys[-1 - count - k]:
        count += 1
    return count
