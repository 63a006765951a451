"""What exactly is an agent told in a turn? The order's words, with all around them that a new session needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from touchline.agents.prompts import prepared
from touchline.agents.workspaces.clone import left_out_of
from touchline.sessions.plans import with_plan
from touchline.sessions.records import SessionRecord, TurnRecord
from touchline.sessions.spending import spending_of
from touchline.sessions.state import Order
from touchline.sessions.texts import text
from touchline.supervision.contract import Contract
from touchline.supervision.limits import Limits
from touchline.supervision.review import stage


def with_turns_left(order: Order, session: SessionRecord, before: Sequence[TurnRecord], limits: Limits) -> Order:
    """The order of one of the last turns says so; `before` are the turns that were begun earlier. Not the first
    prompt, and not a nudge, which is no turn of its own."""
    allowed = session.asked.turns
    if allowed is None or order.kind in ("first", "nudge"):
        return order
    used = spending_of(before, base=session.state.turns_base).turns
    if stage(used, allowed, limits) != "warned":
        return order
    words = text("last_turn" if allowed - used == 1 else "turns_left", left=f"{allowed - used}", allowed=f"{allowed}")
    return replace(order, message=f"{order.message}\n\n{words}")


def prompt_of(session: SessionRecord, order: Order, contract: Contract | None, *, resumed: bool) -> str:
    """A session that goes on knows the task; a new one is told everything. Reminders that could not be spoken in
    mid-turn come first, but never before a nudge, which asks for one thing only."""
    asked = session.asked
    if not resumed:
        # An order that was meant for a session which is not there any more would not say what the task is.
        task = order.message if order.kind == "first" or order.fresh else f"{asked.task}\n\n{order.message}"
        return prepared(
            with_plan(task, session),
            workspace=Path(session.workspace),
            submodules=left_out_of(Path(session.workspace).parent)[1],
            folders=tuple(map(Path, asked.folders)),
            skill=asked.skill,
            read_only=asked.read_only,
            contract=contract,
        )
    if order.kind == "nudge":
        return order.message
    return "\n\n".join((*session.state.pending, order.message))
