"""What is written about a turn, and when? Its beginning, the CLI's session, its end: each in one transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa

from touchline.agents.pricing import prices_of
from touchline.agents.turns_values import Ran
from touchline.errors import SessionError
from touchline.sessions.events import about
from touchline.sessions.raw import usage_to_json
from touchline.sessions.records import SessionRecord, TurnRecord, session_record, turn_of_session, turns_of_session
from touchline.sessions.spending import spent_to_json
from touchline.sessions.state import Order, thrash_to_json
from touchline.sessions.texts import storable
from touchline.store.append import append
from touchline.store.columns import new_id, now
from touchline.store.database import Database
from touchline.store.log_tables import events
from touchline.store.statements import inserting, updating
from touchline.store.statuses import bump
from touchline.store.tables import sessions, turns, usage
from touchline.supervision.facts import Turn, Usage
from touchline.supervision.recovery import merge_usage

_WORD = 80
_SESSION = re.compile(r"[A-Za-z0-9][\w.:@+/=-]{0,199}", re.ASCII)
"""An id that can be kept, and given back to the CLI as an argument that is not taken for an option."""


def begin_turn(
    connection: sa.Connection, session: SessionRecord, order: Order, *, beginning: int, heard: int, lost: bool = False
) -> TurnRecord:
    """The row of a turn whose process is about to start, for the first time or once more.

    `lost`: the CLI does not know the conversation any more, so it cannot go on.
    """
    if beginning == 1:
        before = turns_of_session(connection, session.id)
        first = _calls(session, before)
        row = {
            "id": new_id("turn"),
            "session_id": session.id,
            "number": order.number,
            "kind": order.kind,
            "prompt": order.message,
            "first_call": first,
            "started_at": now(),
        }
        connection.execute(inserting(turns), row)
        bump(connection, "sessions", session.id, "turns")
        told = about(
            session.id,
            "turn.started",
            task_id=session.asked.task_id,
            number=order.number,
            agent=session.agent,
            kind=order.kind,
            text=order.message[:2000],
        )
    else:
        found = cast(TurnRecord, turn_of_session(connection, session.id, order.number))
        bump(connection, "turns", found.id, "beginnings")
        told = about(
            session.id,
            "session.interrupted",
            task_id=session.asked.task_id,
            number=order.number,
            beginnings=beginning,
            heard=heard,
            how="resumed" if heard and found.cli_session_id and not lost else "begun anew",
        )
    append(connection, [told])
    return cast(TurnRecord, turn_of_session(connection, session.id, order.number))


def note_session(database: Database, id: str, number: int, cli_session: str) -> None:
    """The CLI's own id of the conversation, the moment it is known. One that is none is left alone."""
    if not _SESSION.fullmatch(cli_session):
        return
    with database.writing() as connection:
        named = {"cli_session_id": cli_session}
        connection.execute(updating(turns, "session_id", "number"), {"at_session_id": id, "at_number": number, **named})
        connection.execute(updating(sessions, "id"), {"at_id": id, "updated_at": now(), **named})


def told_of_turn(connection: sa.Connection, id: str, number: int) -> int:
    """How many events of a turn's stream are in the log."""
    query = sa.select(events.c.payload).where(events.c.session_id == id, events.c.type.like("agent.%"))
    return sum(json.loads(payload)["number"] == number for payload in connection.execute(query).scalars())


def end_turn(
    connection: sa.Connection,
    id: str,
    turn: TurnRecord,
    ran: Ran,
    *,
    torn: Sequence[Turn],
    final_text: str,
    state: Mapping[str, Any],
) -> None:
    """How it ended and what it spent, with what the session carries on."""
    record = session_record(connection, id)
    heard = ran.turn
    spent: dict[str, Usage] = {}
    for part in (*torn, heard):  # what a crash tore off was paid for all the same, as far as the stream told it
        model = part.model or heard.model or record.model or record.agent
        told = dict(part.usage_by_model) or ({model: part.usage} if part.usage.total else {})
        spent = merge_usage(spent, told)
    estimated = prices_of(spent) if heard.cost_usd is None else None
    cost = heard.cost_usd if estimated is None else sum(estimated.values())
    values = {
        "ended": str(heard.ended),
        "end_detail": storable(heard.end_detail),
        "exit_code": heard.exit_code,
        "stopped": ran.stopped[:_WORD] or None,
        "final_text": storable(final_text),
        "raw_path": str(ran.raw),
        "cli_session_id": heard.session_id if _SESSION.fullmatch(heard.session_id or "") else turn.cli_session_id,
        "usage": usage_to_json(spent, estimated),
        "cost_usd": cost,
        "seconds": ran.seconds,
        "ended_at": now(),
    }
    # A process that was taken for dead and wakes up must not write over the turn that another has begun again.
    ours = turns.update().where(turns.c.id == turn.id, turns.c.beginnings == turn.beginnings, turns.c.ended.is_(None))
    if not connection.execute(ours.values(**values)).rowcount:
        raise SessionError(
            f"Turn {turn.number} of the session {id} was taken over by another process.",
            hint="Nothing is lost: that process goes on with it.",
        )
    _usage_rows(connection, id, turn, spent, cost)
    carried = {
        **state,
        "thrash": thrash_to_json(state["thrash"]),
        "reminded": thrash_to_json(state["reminded"]),
        "pending": tuple(state["pending"]),
    }
    all_turns = turns_of_session(connection, id)
    carried_on = {
        "state": replace(record.state, **carried).to_json(),
        "spent": spent_to_json(all_turns),
        "cli_session_id": values["cli_session_id"] or record.cli_session_id,
        "updated_at": now(),
    }
    connection.execute(updating(sessions, "id"), {"at_id": id, **carried_on})
    told_end = about(
        id,
        "turn.ended",
        task_id=record.asked.task_id,
        number=turn.number,
        ended=str(heard.ended),
        exit_code=heard.exit_code,
        detail=heard.end_detail or None,
        stopped=values["stopped"],
        seconds=round(ran.seconds, 3),
        cost_usd=cost,
        cost_estimated=estimated is not None or None,
    )
    append(connection, [told_end])


def _usage_rows(
    connection: sa.Connection, id: str, turn: TurnRecord, spent: Mapping[str, Usage], cost: float | None
) -> None:
    for n, (model, each) in enumerate(spent.items()):
        row = {
            "id": new_id("usage"),
            "session_id": id,
            "turn_id": turn.id,
            "model": model[:_WORD],
            "purpose": "nudge" if turn.kind == "nudge" else "work",
            "input": each.input,
            "output": each.output,
            "cache_read": each.cache_read,
            "cache_write": each.cache_write,
            # The CLIs tell one sum for a turn; it stands with the first model.
            "cost_usd": cost if n == 0 else None,
            "at": now(),
        }
        connection.execute(inserting(usage), row)


def _calls(session: SessionRecord, before: Sequence[TurnRecord]) -> int:
    """Calls of the session so far, as the last judgement counted them."""
    return session.state.calls if before else 0
