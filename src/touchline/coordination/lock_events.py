"""What is told about leases? One event per resource, and an alert for every ring of waiters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from touchline.coordination.cycles import Cycle
from touchline.coordination.waits import Wait
from touchline.store.columns import written
from touchline.store.events import Ids, NewEvent

SOURCE = "coordination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """Something that stands in the way of a request."""

    resource: str
    holder: str
    """Who has it, or for whom it is kept."""
    until: datetime
    """When that ends, if nobody renews or releases it before."""
    reason: Literal["held", "kept"]
    """Kept means: for a waiter whose turn it is, or that has waited for long for all it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A lease that is no more."""

    type: Literal["lock.released", "lock.expired"]
    resource: str
    holder: str
    token: int
    expires_at: datetime
    reason: str = ""
    """Why it was released, when not by its holder."""


def granted(
    holder: str, resources: Sequence[str], *, token: int, expires_at: datetime, priority: int, ids: Ids
) -> list[NewEvent]:
    until = written(expires_at)
    return [
        NewEvent(
            type="lock.granted",
            payload={"resource": r, "holder": holder, "token": token, "expires_at": until, "priority": priority},
            source=SOURCE,
            ids=ids,
        )
        for r in resources
    ]


def denied(holder: str, blockers: Iterable[Blocker], *, priority: int, ids: Ids) -> list[NewEvent]:
    return [
        NewEvent(
            type="lock.denied",
            payload={
                "resource": blocker.resource,
                "holder": holder,
                "held_by": blocker.holder,
                "reason": blocker.reason,
                "priority": priority,
            },
            source=SOURCE,
            ids=ids,
        )
        for blocker in blockers
    ]


def ended(gone: Iterable[Ended], woken: Sequence[Wait]) -> list[NewEvent]:
    """With whom it woke."""
    told = []
    for lease in gone:
        payload: dict[str, object] = {
            "resource": lease.resource,
            "holder": lease.holder,
            "token": lease.token,
            "waiters": [wait.waiter for wait in woken if lease.resource in wait.resources],
        }
        if lease.type == "lock.expired":
            payload["expires_at"] = written(lease.expires_at)
        elif lease.reason:
            payload["reason"] = lease.reason
        told.append(NewEvent(type=lease.type, payload=payload, source=SOURCE))
    return told


def deadlock(ring: Cycle, *, alert: str) -> NewEvent:
    return NewEvent(
        type="alert.deadlock",
        payload={
            "alert": alert,
            "severity": "critical",
            "text": told_ring(ring),
            "subject": ring.fingerprint,
            "members": list(ring.members),
        },
        source=SOURCE,
    )


def told_ring(ring: Cycle) -> str:
    """The ring in words."""
    steps = zip(ring.members, ring.resources, (*ring.members[1:], ring.members[0]), strict=True)
    return "; ".join(f"{waiter} waits for {resource} of {holder}" for waiter, resource, holder in steps) + "."
