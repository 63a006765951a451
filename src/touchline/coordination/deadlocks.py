"""Which rings of waiters are new, and which are gone? Each is told once while it lasts, and again if it forms anew.

A ring lasts as long as all its edges do. Who of its members yields is the manager's decision, not taken here.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from touchline.coordination import lock_events
from touchline.coordination.cycles import Cycle, rings, steps, wait_graph
from touchline.store.events import NewEvent
from touchline.store.statuses import create, move
from touchline.store.tables import alerts, wait_cycles

KIND = "deadlock"
"""The kind of the alert."""


def note(connection: sa.Connection, now: datetime) -> tuple[list[Cycle], list[NewEvent]]:
    """Clear the rings that are gone with their alerts, remember the new ones; these are returned with what to tell."""
    edges = wait_graph(connection, now)
    known = connection.execute(
        sa.select(wait_cycles.c.fingerprint, wait_cycles.c.members).where(wait_cycles.c.cleared_at.is_(None))
    ).all()
    lasting: set[str] = set()
    for fingerprint, members in known:
        if all(holder in edges.get(waiter, {}) for waiter, holder in steps(members)):
            lasting.add(fingerprint)
        else:
            _set(connection, fingerprint, cleared_at=now)
            _clear_alerts(connection, fingerprint, now)
    formed = [ring for ring in rings(edges) if ring.fingerprint not in lasting]
    return formed, [_remembered(connection, ring, now) for ring in formed]


def _remembered(connection: sa.Connection, ring: Cycle, now: datetime) -> NewEvent:
    if not _set(connection, ring.fingerprint, found_at=now, cleared_at=None):
        connection.execute(
            wait_cycles.insert().values(fingerprint=ring.fingerprint, members=list(ring.members), found_at=now)
        )
    alert = create(
        connection,
        "alerts",
        kind=KIND,
        severity="critical",
        subject=ring.fingerprint,
        text=lock_events.told_ring(ring),
        created_at=now,
        updated_at=now,
    )
    return lock_events.deadlock(ring, alert=alert)


def _clear_alerts(connection: sa.Connection, fingerprint: str, now: datetime) -> None:
    theirs = sa.select(alerts.c.id).where(
        alerts.c.kind == KIND, alerts.c.subject == fingerprint, alerts.c.status != "cleared"
    )
    for alert in connection.execute(theirs).scalars().all():
        move(connection, "alerts", alert, "cleared", updated_at=now)


def _set(connection: sa.Connection, fingerprint: str, **values: datetime | None) -> bool:
    changed = connection.execute(wait_cycles.update().where(wait_cycles.c.fingerprint == fingerprint).values(**values))
    return changed.rowcount > 0
