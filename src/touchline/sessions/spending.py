"""What has a session spent? Summed over its turns; a cost that one turn did not tell is unknown for the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchline.sessions.raw import ESTIMATED, usage_from_json, usage_to_json
from touchline.sessions.records import TurnRecord
from touchline.supervision.budgets import Spending
from touchline.supervision.facts import Usage
from touchline.supervision.recovery import merge_usage


def spending_of(turns: Sequence[TurnRecord], *, base: int = 0, failures: int = 0) -> Spending:
    """As budgets count it: a nudge is paid for, and is no turn of its own. `base` turns were allowed for before."""
    usage = usage_of(turns)
    costs = [turn.cost_usd for turn in turns if turn.ended is not None and _cost_something(turn)]
    return Spending(
        turns=max(0, sum(turn.kind != "nudge" for turn in turns) - base),
        tokens=sum((each.total for each in usage.values()), 0),
        usd=None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs),
        seconds=sum((turn.seconds or 0.0) + float(turn.check_run.get("seconds", 0.0)) for turn in turns),
        failures=failures,
    )


def usage_of(turns: Sequence[TurnRecord]) -> dict[str, Usage]:
    """Tokens by model."""
    total: dict[str, Usage] = {}
    for turn in turns:
        total = merge_usage(total, usage_from_json(turn.usage))
    return total


def spent_to_json(turns: Sequence[TurnRecord]) -> dict[str, Any]:
    """For the session's row, and for people."""
    spending = spending_of(turns)
    return {
        "turns": spending.turns,
        "tokens": spending.tokens,
        "usd": spending.usd,
        **({"estimated": True} if any(cost_estimated(turn) for turn in turns) else {}),
        "seconds": round(spending.seconds, 3),
        "models": usage_to_json(usage_of(turns)),
    }


def cost_estimated(turn: TurnRecord) -> bool:
    """The CLI did not tell the cost: it is the list price of the tokens."""
    return any(ESTIMATED in each for each in turn.usage.values())


def tokens_of(spent: Mapping[str, Any]) -> int:
    return int(spent.get("tokens", 0))


def _cost_something(turn: TurnRecord) -> bool:
    """A turn in which the CLI never came to speak has cost nothing; any other has, told or not."""
    return turn.cost_usd is not None or (turn.cli_session_id is not None and bool(turn.seconds))
