"""Do some wait for each other in a ring? The wait graph, without memory; `deadlocks` knows what was told already.

An edge goes from a waiter to the live holder of what it wants. For every edge that lies on a ring the shortest ring
through it is found: that covers every deadlock, and stays cheap where counting all rings would not.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from touchline.coordination.section import time_of
from touchline.store.tables import leases, waits

Edges = dict[str, dict[str, list[str]]]
"""waiter -> holder -> the resources it wants from that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """A ring of waiters: each waits for the next, the last for the first."""

    members: tuple[str, ...]
    """In the order of waiting, beginning with the smallest name."""
    resources: tuple[str, ...] = ()
    """For each member, what it wants from the next: one resource of possibly several."""

    @property
    def fingerprint(self) -> str:
        """The same for the same ring, whoever is named first."""
        return hashlib.sha256(json.dumps(self.members).encode()).hexdigest()


def cycles(connection: sa.Connection, now: datetime | None = None) -> list[Cycle]:
    """The rings that exist now. Expired leases, ended waits and waiting for oneself make no edge."""
    return rings(wait_graph(connection, now or time_of(connection)))


def wait_graph(connection: sa.Connection, now: datetime) -> Edges:
    """Who waits for whom, and for what."""
    found = connection.execute(
        sa.select(waits.c.waiter, leases.c.holder, waits.c.resource)
        .join(leases, leases.c.resource == waits.c.resource)
        .where(leases.c.holder != waits.c.waiter, leases.c.expires_at > now, waits.c.expires_at > now)
        .order_by(waits.c.waiter, leases.c.holder, waits.c.resource)
    )
    edges: Edges = {}
    for waiter, holder, resource in found:
        edges.setdefault(waiter, {}).setdefault(holder, []).append(resource)
    return edges


def rings(edges: Edges) -> list[Cycle]:
    """The shortest ring through each edge, each once."""
    found: dict[tuple[str, ...], Cycle] = {}
    for waiter in sorted(edges):
        for holder in sorted(edges[waiter]):
            way = _shortest(edges, holder, waiter)
            if way:
                first = way.index(min(way))
                members = (*way[first:], *way[:first])
                found.setdefault(
                    members,
                    Cycle(members=members, resources=tuple(edges[one][other][0] for one, other in steps(members))),
                )
    return [found[members] for members in sorted(found)]


def _shortest(edges: Edges, start: str, goal: str) -> tuple[str, ...]:
    """The shortest way along the edges; empty when there is none."""
    before: dict[str, str] = {start: ""}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == goal:
            way = [node]
            while before[way[-1]]:
                way.append(before[way[-1]])
            return tuple(reversed(way))
        for other in sorted(edges.get(node, {})):
            if other not in before:
                before[other] = node
                queue.append(other)
    return ()


def steps(members: Sequence[str]) -> list[tuple[str, str]]:
    """Each member with the one it waits for."""
    return list(zip(members, (*members[1:], members[0]), strict=True))
