"""May another turn be paid for? One limit over all sessions of a build, or over a day's sessions without one.

Before a turn starts it reserves a part of what is left, in a row that outlives this process, so that sessions side by
side cannot all spend the same rest. What was really spent comes from the table `usage`, supervision's own included.
Nothing here catches an error of the database: who cannot read what was spent does not spend.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from touchline.agents.turns_values import Say, Stop
from touchline.sessions.records import SessionRecord
from touchline.sessions.room import Room
from touchline.sessions.spend_limits import SpendLimit, limit_for
from touchline.sessions.spend_totals import Spent, spent_in, warn_once
from touchline.store.columns import new_id
from touchline.store.spend_tables import reservations
from touchline.store.statuses import bump, create, move
from touchline.supervision.facts import Event
from touchline.supervision.facts import Spent as SpentEvent

SPENDING = "spending"
"""How `stopped` of a turn begins that was ended here."""
SHARES = 10
"""A turn reserves this part of the limit at a time, or what is left of it."""
WAIT_SECONDS = 0.5
"""How often a turn that found everything reserved by others looks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a turn may spend before it must ask again; None is no limit."""

    tokens: int | None = None
    usd: float | None = None

    def plus(self, tokens: int, usd: float) -> Grant:
        return Grant(
            tokens=None if self.tokens is None else self.tokens + tokens,
            usd=None if self.usd is None else self.usd + usd,
        )

    def less_than(self, used: Grant) -> bool:
        tokens = self.tokens is not None and (used.tokens or 0) > self.tokens
        return tokens or (self.usd is not None and (used.usd or 0.0) > self.usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No turn is started. `over`: the limit is reached; `full`: all that is left is reserved by others for now."""

    why: Literal["over", "full"]
    words: str


def decide_grant(limit: SpendLimit, spent: Spent, *, new_run: bool) -> Grant | Refused:
    """What the next turn may spend. Pure."""
    usd = spent.usd + spent.untold * (limit.usd or 0.0) / SHARES
    told = (
        f" ({spent.untold} turns did not tell their cost and count as {100 / SHARES:g} % each)" if spent.untold else ""
    )
    if limit.tokens is not None and spent.tokens >= limit.tokens:
        return Refused(why="over", words=f"{limit.title} has used {spent.tokens} of {limit.tokens} tokens.")
    if limit.usd is not None and usd >= limit.usd:
        return Refused(why="over", words=f"{limit.title} has spent {usd:.4g} of {limit.usd:.4g} USD{told}.")
    if limit.runs_per_day is not None and new_run and spent.runs_today >= limit.runs_per_day:
        return Refused(
            why="over", words=f"{limit.title} has had {spent.runs_today} of {limit.runs_per_day} runs today."
        )
    tokens, money = None, None
    if limit.tokens is not None:
        tokens = min(limit.tokens - spent.tokens - spent.held_tokens, max(1, limit.tokens // SHARES))
    if limit.usd is not None:
        money = min(limit.usd - usd - spent.held_usd, limit.usd / SHARES)
    if (tokens is not None and tokens <= 0) or (money is not None and money <= 1e-9):
        return Refused(why="full", words=f"All that {limit.title} has left is reserved by turns that run.")
    return Grant(tokens=tokens, usd=money)


class Hold:
    """What one turn has reserved. It asks for more while the turn goes on, and says when there is no more."""

    def __init__(self, room: Room, session: SessionRecord, number: int, grant: Grant) -> None:
        self._room, self._session, self._number = room, session, number
        self._grant = grant
        self._used = Grant(tokens=0, usd=0.0)

    @property
    def counts_money(self) -> bool:
        """Money is limited: what tokens cost must be known while they are spent."""
        return self._grant.usd is not None

    def spent(self, tokens: int, usd: float) -> str:
        """Count what was spent; why the turn must end, or nothing."""
        self._used = used = self._used.plus(tokens, usd)
        while self._grant.less_than(used):
            found = _granted(self._room, self._session, self._number, have=used)
            if isinstance(found, Refused):
                return found.words
            self._grant = Grant() if found is None else found.plus(used.tokens or 0, used.usd or 0.0)
        return ""


def reserve(room: Room, session: SessionRecord, number: int, must_stop: Callable[[], bool]) -> Hold | Refused | None:
    """Reserve for a turn that is about to start. While everything is reserved by others it waits for them.

    None when it was told to stop meanwhile. Begun again after a crash, a turn takes over its own reservation.
    """
    while True:
        found = _granted(room, session, number, have=Grant())
        if found is None:
            return Hold(room, session, number, Grant())
        if isinstance(found, Grant):
            return Hold(room, session, number, found)
        if found.why == "over":
            return found
        if must_stop():
            return None
        time.sleep(WAIT_SECONDS)


def settle(room: Room, connection: sa.Connection, session: SessionRecord, number: int) -> None:
    """The turn has ended and its usage is written, in the same transaction: nothing is held for it any more."""
    query = sa.select(reservations.c.id).where(_of(session, number), reservations.c.status == "held")
    row = connection.execute(query).scalar()
    if row is not None:
        move(connection, "reservations", row, "settled")
    limit = limit_for(connection, session, room.env)
    if limit is not None:
        warn_once(connection, limit, spent_in(connection, limit, session, number), session, shares=SHARES)


def watched(observe: Callable[[Event], Say | Stop | None], hold: Hold) -> Callable[[Event], Say | Stop | None]:
    """An observer that also ends the turn when there is nothing more to reserve."""
    over = False

    def seen(event: Event) -> Say | Stop | None:
        nonlocal over
        answer = observe(event)
        if over:
            return None
        if isinstance(answer, Stop) or not isinstance(event, SpentEvent):
            return answer
        if why := hold.spent(event.usage.total, event.cost_usd or 0.0):
            over = True
            return Stop(why=f"{SPENDING}: {why}")
        return answer

    return seen


def _granted(room: Room, session: SessionRecord, number: int, *, have: Grant) -> Grant | Refused | None:
    """One look and one reservation in one transaction; `have` is used by this turn and not yet booked."""
    with room.database.writing() as connection:
        limit = limit_for(connection, session, room.env)
        if limit is None:
            return None
        # Whoever looks at the same limit waits here until this one has written what it took.
        bump(connection, "counters", f"spending:{limit.scope}", "value", 0)
        spent = spent_in(connection, limit, session, number)
        tokens, usd = have.tokens or 0, have.usd or 0.0
        warn_once(connection, limit, spent, session, shares=SHARES)
        row = connection.execute(sa.select(reservations).where(_of(session, number))).mappings().first()
        query = sa.select(reservations.c.id).where(
            reservations.c.session_id == session.id, reservations.c.scope == limit.scope
        )
        found = decide_grant(limit, spent.plus(tokens, usd), new_run=connection.execute(query.limit(1)).first() is None)
        if isinstance(found, Refused):
            return found
        values = {"tokens": tokens + (found.tokens or 0), "usd": usd + (found.usd or 0.0)}
        if row is None:
            create(
                connection,
                "reservations",
                id=new_id("reservation"),
                scope=limit.scope,
                session_id=session.id,
                number=number,
                **values,
            )
        else:
            connection.execute(reservations.update().where(reservations.c.id == row["id"]).values(**values))
            if row["status"] == "settled":
                move(connection, "reservations", row["id"], "held")
        return found


def _of(session: SessionRecord, number: int) -> sa.ColumnElement[bool]:
    return sa.and_(reservations.c.session_id == session.id, reservations.c.number == number)
