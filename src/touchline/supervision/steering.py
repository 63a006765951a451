"""What is done, and said, about thrash? The ladder, its texts, and the report for reviewers.

It never looks for patterns itself; `loops` and `thrash` do. Nudge before stopping, and never stop unreviewed.
"""

from __future__ import annotations

from itertools import pairwise

from touchline.supervision.facts import Step
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.patterns import Thrash
from touchline.supervision.sameness import call_key, shorten, thrash_data
from touchline.supervision.values import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Measure = Literal["remind", "refuse", "review", "stop"]


def next_measure(thrash: Thrash, history: Sequence[Measure], *, limits: Limits = LIMITS) -> Measure:
    """The next rung of the ladder, given the measures already taken in this task.

    A warning is only ever coached. A call that has not run yet is refused, which tells the agent why. Anything
    else is reminded of first, then reviewed; the stop comes only after a review.
    """
    if thrash.grade == "warning":
        return "remind"
    if "review" in history:
        return "stop"
    if thrash.refused and history.count("refuse") < limits.refusals:
        return "refuse"
    if "remind" not in history and "refuse" not in history:
        return "remind"
    return "review"


def reminder(thrash: Thrash, *, reminded: Thrash | None = None) -> str | None:
    """The nudge at the next tool boundary; None when this streak has had its one."""
    if reminded is not None and reminded.rule == thrash.rule and thrash.began <= reminded.at:
        return None
    return str(thrash_data("steer")["reminder"]).strip().format(message=thrash.message)


def refusal(thrash: Thrash) -> str:
    """What the agent is told instead of a result, with the first line of the last error."""
    texts = thrash_data("steer")
    detail = str(texts["refusal_detail"]).format(line=thrash.detail) if thrash.detail else ""
    return str(texts["refusal"]).strip().format(message=thrash.message, detail=detail)


def planning_reminder(steps: Sequence[Step], read_only: bool, reminded_at: int | None) -> str | None:
    """What a planner is told when a call fails in a read-only workspace: once per streak of failures.

    `reminded_at` is the index of the call after which it was last told.
    """
    if not read_only or not steps or not steps[-1].failed:
        return None
    began = steps[-1].index
    for step in reversed(steps):
        if not step.failed:
            break
        began = step.index
    if reminded_at is not None and reminded_at >= began:
        return None
    return str(thrash_data("steer")["planning"]).strip()


def pattern_report(steps: Sequence[Step], messages: int, *, loop: Thrash | None = None, limits: Limits = LIMITS) -> str:
    """The automated analysis that a reviewer gets. `messages` is how many the conversation has so far, `loop` the one
    that goes on."""
    texts = thrash_data("report")
    recent = list(steps)[-limits.failure_window :]
    total, failed = len(recent), sum(step.failed for step in recent)
    lines = [loop.message] if loop is not None and loop.grade == "loop" else []
    if messages >= 3 and failed > limits.failure_rate * total:
        rate = {"failed": failed, "total": total, "percent": 100 * failed / total}
        lines.append(texts["failure_rate"].format(**rate))
    for before, now in pairwise(recent if messages >= 3 else ()):
        if before.failed and now.failed and call_key(before.call) == call_key(now.call):
            lines.append(texts["failing_again"].format(call=_command(now)))
            break
    if lines:
        return "\n".join([*lines, texts["alert"]])
    if messages < 3:
        return str(texts["too_little"])
    return str(texts["healthy"]).format(good=total - failed, total=total) if recent else str(texts["no_calls"])


def _command(step: Step) -> str:
    """A shell command as it was typed, any other call in short."""
    only = [v for v in step.call.args.values() if isinstance(v, str)]
    return only[0] if len(only) == len(step.call.args) == 1 and len(only[0]) <= 80 else shorten(step.call)
