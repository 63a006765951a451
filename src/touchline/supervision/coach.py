"""How is a decision worded for the agent?

Three tiers: why a completion was not accepted; what the plan or the phase counts as done; a plain `continue` when
there is nothing certain to say. The words are in `coach.toml`. The coach never decides: it words what was decided.
"""

from __future__ import annotations

from touchline.supervision.criteria import success_criteria
from touchline.supervision.evidence import Ledger
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.phases import Phase
from touchline.supervision.prepared import table
from touchline.supervision.remembering import cache
from touchline.supervision.stops import Stop
from touchline.supervision.values import Literal, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Tier = Literal["rejection", "criteria", "pointer", "hint", "plain"]


class Plan(Value):
    """The plan of a task; `text` is None when the file could not be read."""

    path: str
    text: str | None = None


class Coaching(Value):
    """One message to the agent, and which tier it came from."""

    tier: Tier
    text: str


@cache
def templates() -> Mapping[str, Any]:
    """The words that come with Touchline; a caller may pass a mapping of the same shape."""
    told: Mapping[str, Any] = table("coach.toml")
    return told


def coach(
    stop: Stop,
    *,
    ledger: Ledger | None = None,
    phase: Phase | None = None,
    plan: Plan | None = None,
    rejections_before: int = 0,
    words: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
) -> Coaching:
    """Word the continuation of this stop.

    `rejections_before` is how often this very rejection was already sent: from the second on it is put differently.
    """
    words = templates() if words is None else words
    if stop.rejected:
        from touchline.supervision.rejection import explained

        body = explained(stop, ledger or Ledger(), phase, again=rejections_before > 0, words=words)
        return Coaching(tier="rejection", text=f"{words['prefix']} {body}")
    if plan is not None:
        tier, body = _by_plan(plan, phase, words, limits)
        return Coaching(tier=tier, text=f"{words['prefix']} {body}")
    if phase is not None:
        body = words["phase"]["hint"].format(phase=phase.name, hint=phase.hint)
        return Coaching(tier="hint", text=f"{words['prefix']} {body}")
    return Coaching(tier="plain", text=words["plain"])


def _by_plan(plan: Plan, phase: Phase | None, words: Mapping[str, Any], limits: Limits) -> tuple[Tier, str]:
    say, named = (words["plan"], {}) if phase is None else (words["phase"], {"phase": phase.name})
    criteria = success_criteria(plan.text, limit=limits.criteria_chars) if plan.text is not None else None
    if criteria is None:
        return "pointer", say["pointer"].format(path=plan.path, **named)
    return "criteria", say["criteria"].format(path=plan.path, criteria=criteria, **named)
