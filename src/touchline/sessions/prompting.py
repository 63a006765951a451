"""What exactly is an agent told in a turn? The order's words, with all around them that a new session needs."""

from __future__ import annotations

from pathlib import Path

from touchline.agents.prompts import prepared
from touchline.sessions.plans import with_plan
from touchline.sessions.records import SessionRecord
from touchline.sessions.state import Order
from touchline.supervision.contract import Contract


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
            folders=tuple(map(Path, asked.folders)),
            read_only=asked.read_only,
            contract=contract,
        )
    if order.kind == "nudge":
        return order.message
    return "\n\n".join((*session.state.pending, order.message))
