"""How much of a limit is used? Summed from the books, with what running turns have reserved; and who is warned."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import sqlalchemy as sa

from touchline.sessions.records import SessionRecord
from touchline.sessions.spend_limits import SpendLimit
from touchline.store.append import append
from touchline.store.clock import time_of
from touchline.store.events import Ids, NewEvent
from touchline.store.spend_tables import reservations
from touchline.store.statuses import create_once
from touchline.store.tables import sessions, tasks, usage

WARN_AT = 0.8
"""The part of a limit at which people are warned, once."""
_ALIVE = ("starting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a scope has spent and holds."""

    tokens: int = 0
    usd: float = 0.0
    untold: int = 0
    """Turns that used tokens and did not tell what they cost."""
    held_tokens: int = 0
    """Reserved by other turns that run."""
    held_usd: float = 0.0
    runs_today: int = 0

    def plus(self, tokens: int, usd: float = 0.0) -> Spent:
        """With what is used and not yet booked."""
        return replace(self, tokens=self.tokens + tokens, usd=self.usd + usd)


def spent_in(connection: sa.Connection, limit: SpendLimit, session: SessionRecord, number: int) -> Spent:
    """The sums of a scope. What this turn itself holds is left out: it is about to ask anew."""
    midnight = time_of(connection).replace(hour=0, minute=0, second=0, microsecond=0)
    total = usage.c.input + usage.c.output + usage.c.cache_read + usage.c.cache_write
    rows = usage.outerjoin(sessions, usage.c.session_id == sessions.c.id)
    rows = rows.outerjoin(tasks, sessions.c.task_id == tasks.c.id)
    if limit.build_id is not None:
        ours = sa.or_(usage.c.build_id == limit.build_id, tasks.c.build_id == limit.build_id)
    else:
        ours = sa.and_(usage.c.build_id.is_(None), tasks.c.build_id.is_(None), usage.c.at >= midnight)
    each = (
        sa.select(
            sa.func.sum(total).label("tokens"),
            sa.func.sum(usage.c.cost_usd).label("usd"),
            sa.func.count(usage.c.turn_id).label("turns"),
        )
        .select_from(rows)
        .where(ours)
        .group_by(sa.func.coalesce(usage.c.turn_id, usage.c.id))
        .subquery()
    )
    untold = sa.case((sa.and_(each.c.usd.is_(None), each.c.turns > 0, each.c.tokens > 0), 1), else_=0)
    spent = connection.execute(
        sa.select(sa.func.sum(each.c.tokens), sa.func.sum(each.c.usd), sa.func.sum(untold))
    ).one()
    held = connection.execute(
        sa.select(sa.func.sum(reservations.c.tokens), sa.func.sum(reservations.c.usd))
        .join(sessions, reservations.c.session_id == sessions.c.id)
        .where(
            reservations.c.scope == limit.scope,
            reservations.c.status == "held",
            # One whose session was given up holds nothing, whoever died with it.
            sessions.c.status.in_(_ALIVE),
            sa.or_(reservations.c.session_id != session.id, reservations.c.number != number),
        )
    ).one()
    runs = connection.execute(
        sa.select(sa.func.count(sa.distinct(reservations.c.session_id))).where(
            reservations.c.scope == limit.scope, reservations.c.created_at >= midnight
        )
    ).scalar()
    return Spent(
        tokens=int(spent[0] or 0),
        usd=float(spent[1] or 0.0),
        untold=int(spent[2] or 0),
        held_tokens=int(held[0] or 0),
        held_usd=float(held[1] or 0.0),
        runs_today=int(runs or 0),
    )


def warn_once(
    connection: sa.Connection, limit: SpendLimit, spent: Spent, session: SessionRecord, *, shares: int
) -> None:
    """Tell people, once per limit (and day), that most of it is used."""
    usd = spent.usd + spent.untold * (limit.usd or 0.0) / shares
    day = str(time_of(connection).date()) if limit.build_id is None else ""
    for name, used, most in (("tokens", spent.tokens, limit.tokens), ("USD", usd, limit.usd)):
        if most is None or used < WARN_AT * most:
            continue
        mark = hashlib.sha256("\0".join((limit.scope, name, f"{most:g}", day)).encode()).hexdigest()[:24]
        text = f"{limit.title} has used {used:.4g} of {most:.4g} {name}."
        values = {"kind": "budget", "severity": "warning", "subject": limit.scope, "text": text}
        if create_once(connection, "alerts", unique="id", id=f"alert_{mark}", **values) is None:
            continue
        told = {
            "alert": f"alert_{mark}",
            "severity": "warning",
            "text": text,
            "subject": limit.scope,
            "spent": float(used),
            "limit": float(most),
        }
        ids = Ids(session=session.id, task=session.asked.task_id, build=limit.build_id)
        append(connection, [NewEvent(type="alert.budget", payload=told, source="governor", ids=ids)])
