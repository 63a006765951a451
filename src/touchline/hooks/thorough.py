"""Does the agent go in circles? The rules themselves, fed with the calls that hooks saw.

Loaded only when `glance` says that they may find something. The watch goes on where it was saved, and takes in what
the journal has since.
"""

from __future__ import annotations

from touchline.hooks import glance
from touchline.hooks.dialects import Heard, answer
from touchline.hooks.limits_kept import limits_of
from touchline.hooks.memory import Memory
from touchline.supervision.facts import Call, Result, Step
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.patterns import Rule, Thrash
from touchline.supervision.sameness import thrash_data
from touchline.supervision.steering import next_measure, planning_reminder, refusal, reminder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def before(heard: Heard, memory: Memory) -> dict[str, Any] | None:
    """Refuse a call that would only repeat what is known."""
    watch, _, _ = _caught_up(memory)
    state = memory.state
    call = Call(id="", tool=heard.tool, args=glance.kept_args(heard.args))
    thrash = watch.before(call, index=int(state.get("calls", 0)))
    if thrash is None:
        return None
    refused = int(state.get("refused", 0))
    state["refused"] = refused + 1
    memory.keep()
    # No reviewer sits in a hook: after the ladder's refusals the person is asked, where the agent can ask.
    measure = next_measure(thrash, ["refuse"] * refused, limits=limits_of(state))
    return answer(heard, "refuse" if measure == "refuse" else "ask", refusal(thrash))


def after(heard: Heard, memory: Memory) -> dict[str, Any] | None:
    """Remind the agent after the call that the journal ends with; the caller saves the state."""
    watch, thrash, steps = _caught_up(memory)
    memory.save("watch.json", {"next": int(memory.state.get("calls", 0)), "watch": watch.to_json()})
    state = memory.state
    words = []
    if thrash is not None and (said := reminder(thrash, reminded=_thrash(state.get("reminded")))):
        words.append(said)
        state["reminded"] = [thrash.rule.value, thrash.grade, thrash.began, thrash.at]
    planned_at = state.get("planned_at")
    planned_at = planned_at if isinstance(planned_at, int) else None
    if planning := planning_reminder(steps, heard.planning, planned_at):
        words.append(planning)
        state["planned_at"] = steps[-1].index
    return answer(heard, "tell", "\n\n".join(words)) if words else None


def planning_refusal() -> str:
    """What a planner is told instead of a write."""
    return str(thrash_data("steer")["planning"]).strip()


def _caught_up(memory: Memory) -> tuple[ThrashWatch, Thrash | None, list[Step]]:
    """The watch after the last call, what it found there, and the calls it was newly given."""
    saved = memory.load("watch.json")
    saved = saved if isinstance(saved, dict) and isinstance(saved.get("next"), int) else {"next": 0}
    watch = ThrashWatch.from_json(saved.get("watch"), limits=limits_of(memory.state))
    thrash: Thrash | None = None
    steps: list[Step] = []
    for entry in memory.calls():
        if len(entry) == 2 and entry[0] == "told":
            if entry[1] >= saved["next"]:
                watch.told()
            continue
        step = _step(entry)
        if step is None:
            continue
        steps.append(step)
        if step.index >= saved["next"]:
            thrash = watch.after(step)
    return watch, thrash, steps


def _step(entry: list[Any]) -> Step | None:
    try:
        index, tool, args, text, digest, failed = entry
        call = Call(id=str(index), tool=str(tool), args=dict(args))
        result = Result(call_id=str(index), text=str(text), digest=str(digest), failed=bool(failed))
        return Step(index=int(index), call=call, result=result)
    except (TypeError, ValueError):
        return None


def _thrash(kept: Any) -> Thrash | None:
    try:
        rule, grade, began, at = kept
        return Thrash(rule=Rule(rule), grade=grade, began=int(began), at=int(at))
    except (TypeError, ValueError):
        return None
