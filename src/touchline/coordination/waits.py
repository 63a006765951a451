"""Who waits for what, and whose turn is it when something is freed?

A denied request leaves one row per resource it wants, the free ones too: it needs all of them at once. Whoever could
have everything now is woken, the highest priority first, then the longest wait; what the woken were freed for is kept
for them for a moment, so that a newcomer cannot snatch it again and again. A wait whose waiter never asks again ends.

Who wants much would never find all of it free at once while others come and go. So after a while a waiter reserves what
is free of it: who comes after it waits, too. That binds only those who hold nothing. Who holds something may hold what
the waiter waits for, and must be able to go on; and since nobody waits for one who holds nothing, a reservation cannot
be part of a ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from touchline.store.tables import leases, waits

KEPT_SECONDS = 10
"""How long a freed resource is kept for the waiter it was freed for."""
WAIT_SECONDS = 1800
"""How long a wait lives after its waiter last asked; a dead waiter must not stay in the wait graph."""
PATIENT_SECONDS = 60
"""How long one waits before what is free of it is reserved; and how lately one must have asked for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One waiter and everything it wants."""

    waiter: str
    resources: tuple[str, ...]
    """All that was asked for, in order of name."""
    priority: int
    """The higher goes first."""
    since: datetime
    """When it first asked for one of them."""
    asked_at: datetime
    """When it last asked."""
    woken_at: datetime | None = None
    """When it was told that everything is free."""

    @property
    def rank(self) -> tuple[int, datetime, str]:
        """Smaller goes first."""
        return (-self.priority, self.since, self.waiter)

    def keeps(self, now: datetime) -> bool:
        """Is what it was woken for still kept for it?"""
        return self.woken_at is not None and now < self.woken_at + timedelta(seconds=KEPT_SECONDS)

    def reserves(self, now: datetime) -> bool:
        """Has it waited for so long that what is free is reserved for it? Not for one that no longer asks."""
        patience = timedelta(seconds=PATIENT_SECONDS)
        return now >= self.since + patience and now < self.asked_at + patience


def all_waits(connection: sa.Connection) -> list[Wait]:
    """Everybody who waits, in the order of their turns."""
    rows: dict[str, list[sa.Row[tuple[object, ...]]]] = {}
    for row in connection.execute(sa.select(waits).order_by(waits.c.waiter, waits.c.resource)):
        rows.setdefault(row.waiter, []).append(row)
    found = [
        Wait(
            waiter=waiter,
            resources=tuple(row.resource for row in own),
            priority=max(row.priority for row in own),
            since=min(row.since for row in own),
            asked_at=max(row.expires_at for row in own) - timedelta(seconds=WAIT_SECONDS),
            woken_at=min((row.woken_at for row in own if row.woken_at), default=None),
        )
        for waiter, own in rows.items()
    ]
    return sorted(found, key=lambda wait: wait.rank)


def record(connection: sa.Connection, *, waiter: str, resources: Sequence[str], priority: int, now: datetime) -> bool:
    """Remember what a waiter wants, instead of what it wanted before. Is any of it new? Its age stays."""
    known = {
        row.resource: row.since for row in connection.execute(sa.select(waits).where(waits.c.waiter == waiter)).all()
    }
    withdraw(connection, waiter=waiter)
    connection.execute(
        waits.insert(),
        [
            {
                "waiter": waiter,
                "resource": resource,
                "priority": priority,
                "since": known.get(resource, now),
                "woken_at": None,
                "expires_at": now + timedelta(seconds=WAIT_SECONDS),
            }
            for resource in resources
        ],
    )
    return not set(resources) <= known.keys()


def withdraw(connection: sa.Connection, *, waiter: str) -> bool:
    """Forget that somebody waits."""
    return connection.execute(waits.delete().where(waits.c.waiter == waiter)).rowcount > 0


def is_woken(connection: sa.Connection, waiter: str) -> bool:
    """Was this waiter told to come?"""
    question = sa.select(waits.c.waiter).where(waits.c.waiter == waiter, waits.c.woken_at.is_not(None)).limit(1)
    return connection.execute(question).first() is not None


def wake(connection: sa.Connection, now: datetime) -> list[Wait]:
    """Wake all who could have everything now, best first, and let sleep again those who no longer could."""
    waiting = all_waits(connection)
    if not waiting:
        return []
    wanted = {resource for wait in waiting for resource in wait.resources}
    taken = connection.execute(sa.select(leases.c.resource, leases.c.holder).where(leases.c.resource.in_(wanted)))
    held = {row.resource: row.holder for row in taken}
    holders = _holders(connection)
    woken: list[Wait] = []
    kept: set[str] = set()
    reserved: set[str] = set()
    for wait in waiting:
        barred = kept if wait.waiter in holders else kept | reserved
        free = all(held.get(each, wait.waiter) == wait.waiter for each in wait.resources) and barred.isdisjoint(
            wait.resources
        )
        if free and wait.woken_at is None:
            woken.append(wait)
        elif not free and wait.woken_at is not None:
            _mark(connection, wait.waiter, None)
        if free and (wait.woken_at is None or wait.keeps(now)):
            kept.update(wait.resources)
        if wait.reserves(now):
            reserved.update(wait.resources)
    for wait in woken:
        _mark(connection, wait.waiter, now)
    return woken


def ahead(
    connection: sa.Connection, *, waiter: str, resources: Sequence[str], priority: int, now: datetime
) -> dict[str, Wait]:
    """Free resources that are kept, or reserved, for somebody whose turn comes before this request's."""
    waiting = all_waits(connection)
    since = next((wait.since for wait in waiting if wait.waiter == waiter), now)
    rank = (-priority, since, waiter)
    bound = waiter not in _holders(connection)
    kept: dict[str, Wait] = {}
    for wait in waiting:
        if wait.waiter != waiter and wait.rank < rank and (wait.keeps(now) or (bound and wait.reserves(now))):
            kept |= {each: wait for each in wait.resources if each in resources}
    return kept


def _holders(connection: sa.Connection) -> set[str]:
    return set(connection.execute(sa.select(leases.c.holder).distinct()).scalars())


def _mark(connection: sa.Connection, waiter: str, moment: datetime | None) -> None:
    connection.execute(waits.update().where(waits.c.waiter == waiter).values(woken_at=moment))
