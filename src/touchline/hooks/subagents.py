"""What did the agent's helpers do for it? Their evidence, taken into the main agent's where it called them.

A helper stops before its caller does, and its own stop left its ledger in a folder of its own. Loaded only where a
session has such folders.
"""

from __future__ import annotations

from touchline.plain_os import join
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Call, Result, Turn
from touchline.supervision.values import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from touchline.hooks.memory import Memory

CALLING = frozenset({"Task", "Agent", "spawn_agent", "wait", "wait_agent"})
"""Tools by which agents hand work to a helper, or wait for it."""


def new_evidence(memory: Memory, names: Sequence[str], read: Callable[[Any], Ledger | None]) -> list[Ledger]:
    """What helpers did since it was last asked; they are remembered as asked in the state, which the caller saves."""
    asked = memory.state.get("helpers")
    known: dict[str, Any] = asked if isinstance(asked, dict) else {}
    found: list[Ledger] = []
    for name in sorted(names):
        told = memory.load(join(name, "evidence.json"))
        ledger = read(told.get("ledger")) if isinstance(told, dict) else None
        before = known.get(name, 0)
        if ledger is not None and isinstance(before, int) and ledger.calls > before:
            found.append(ledger.since(before))
            known[name] = ledger.calls
    memory.state["helpers"] = known
    return found


def with_helpers(turns: Sequence[Turn], helpers: Sequence[Ledger]) -> Iterator[tuple[Turn, Sequence[Ledger]]]:
    """The turns, and after which of them the helpers' work belongs; the turn that called them is cut in two there."""
    at = next((n for n in reversed(range(len(turns))) if _answered(turns[n]) is not None), len(turns) - 1)
    for number, turn in enumerate(turns):
        place = _answered(turn) if number == at else None
        if number != at:
            yield turn, ()
        elif place is None:
            yield turn, helpers
        else:
            yield replace(turn, events=turn.events[: place + 1]), helpers
            yield replace(turn, events=turn.events[place + 1 :]), ()


def joined(ledger: Ledger, helper: Ledger) -> Ledger:
    """The ledger with a helper's calls after its own."""
    by = ledger.calls
    return replace(
        ledger,
        calls=by + helper.calls,
        writes=(*ledger.writes, *(replace(each, call=each.call + by) for each in helper.writes)),
        commands=(*ledger.commands, *(replace(each, call=each.call + by) for each in helper.commands)),
        test_runs=(*ledger.test_runs, *(replace(each, call=each.call + by) for each in helper.test_runs)),
        commits=(*ledger.commits, *(replace(each, call=each.call + by) for each in helper.commits)),
        pushes=(*ledger.pushes, *(call + by for call in helper.pushes)),
        deeds=(*ledger.deeds, *(call + by for call in helper.deeds)),
        pull_requests=tuple(dict.fromkeys((*ledger.pull_requests, *helper.pull_requests))),
        weakened=ledger.weakened
        or (None if helper.weakened is None else replace(helper.weakened, call=helper.weakened.call + by)),
    )


def _answered(turn: Turn) -> int | None:
    """Where the last answer of a helper stands in a turn."""
    called = {event.id for event in turn.events if isinstance(event, Call) and event.tool in CALLING}
    places = [n for n, event in enumerate(turn.events) if isinstance(event, Result) and event.call_id in called]
    return places[-1] if places else None
