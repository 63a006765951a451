"""Rings of waiters: found whatever their length, told once while they last, told again when they form anew."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.coordination.noon import at
from tests.coordination.test_leases import denied, granted

from touchline.coordination.cycles import Cycle, cycles, rings, steps
from touchline.coordination.leases import expire, release, withdraw
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.tables import alerts, wait_cycles


def ring(database: Database, *members: str, seconds: float = 0) -> None:
    """Each member holds a resource of its own and waits for the next one's."""
    for member in members:
        granted(database, member, f"r-{member}", now=at(seconds))
    for member, following in steps(members):
        denied(database, member, f"r-{following}", now=at(seconds + 1))


def found(database: Database, seconds: float = 2) -> list[tuple[str, ...]]:
    with database.reading() as connection:
        return [each.members for each in cycles(connection, at(seconds))]


def told(database: Database) -> list[tuple[str, ...]]:
    return [tuple(event.payload["members"]) for event in read(database, patterns=["alert.deadlock"])]


def alert_statuses(database: Database) -> list[str]:
    with database.reading() as connection:
        return list(connection.execute(sa.select(alerts.c.status).order_by(alerts.c.created_at)).scalars())


@pytest.mark.parametrize("members", [("a", "b"), ("c", "a", "b"), ("e", "d", "c", "b", "a")])
def test_a_ring_of_any_length_is_found_and_told_once(database: Database, members: tuple[str, ...]) -> None:
    ring(database, *members)
    first = members.index("a")
    expected = (*members[first:], *members[:first])
    assert found(database) == told(database) == [expected]
    assert alert_statuses(database) == ["open"]
    for second in range(3):
        denied(database, members[0], f"r-{members[1]}", now=at(10 + second))
        denied(database, "bystander", "r-a", now=at(10 + second))
        expire(database, at(20 + second))
    assert told(database) == [expected]


def test_the_request_that_closes_the_ring_is_told_so_and_still_waits(database: Database) -> None:
    granted(database, "a", "r-a", now=at(0))
    granted(database, "b", "r-b", now=at(0))
    assert denied(database, "a", "r-b", now=at(1)).cycles == ()
    closing = denied(database, "b", "r-a", now=at(2))
    assert [each.members for each in closing.cycles] == [("a", "b")]
    assert closing.cycles[0].resources == ("r-b", "r-a")
    release(database, holder="a", now=at(3))
    granted(database, "b", "r-a", now=at(4))


def test_two_rings_apart_and_two_that_share_a_member(database: Database) -> None:
    ring(database, "a", "b")
    ring(database, "x", "y", "z")
    assert told(database) == [("a", "b"), ("x", "y", "z")]
    # A figure eight: m waits for n and for o at once, and both wait for m.
    for member in ("m", "n", "o"):
        granted(database, member, f"r-{member}", now=at(5))
    denied(database, "n", "r-m", now=at(6))
    denied(database, "o", "r-m", now=at(6))
    closing = denied(database, "m", "r-n", "r-o", now=at(7))
    assert {each.members for each in closing.cycles} == {("m", "n"), ("m", "o")}
    assert len(told(database)) == 4
    assert len(set(told(database))) == 4


@pytest.mark.parametrize("how", ["release", "withdraw", "expiry"])
def test_a_ring_that_is_gone_is_cleared_and_told_again_when_it_forms_anew(database: Database, how: str) -> None:
    ring(database, "a", "b")
    if how == "release":
        release(database, holder="a", now=at(5))
    elif how == "withdraw":
        withdraw(database, holder="a", now=at(5))
    later = 2000 if how == "expiry" else 10
    assert found(database, later) == []
    if how == "expiry":
        # Nobody looked in between: the very request that closes the ring anew notices that it was gone.
        ring(database, "a", "b", seconds=later)
    else:
        assert alert_statuses(database) == ["cleared"]
        release(database, holder="b", now=at(8))
        ring(database, "a", "b", seconds=later)
    assert told(database) == [("a", "b"), ("a", "b")]
    assert sorted(alert_statuses(database)) == ["cleared", "open"]
    with database.reading() as connection:
        row = connection.execute(sa.select(wait_cycles)).one()
    assert row.cleared_at is None
    assert row.found_at == at(later + 1)


def test_waiting_for_oneself_and_for_the_dead_is_no_ring(database: Database) -> None:
    granted(database, "a", "r-a", now=at(0))
    granted(database, "b", "r-b", now=at(0), seconds=10)
    denied(database, "a", "r-a", "r-b", now=at(1))
    assert found(database) == []
    # By now b's lease has expired: a could go on, so b waits for a, but a for nobody.
    denied(database, "b", "r-a", now=at(20))
    assert found(database, 20) == []
    assert told(database) == []


def test_many_rings_through_all_members_are_found_in_no_time() -> None:
    names = [f"n{number:02}" for number in range(25)]
    everybody = {one: {other: ["r"] for other in names if other != one} for one in names}
    assert len(rings(everybody)) == 25 * 24 // 2


@settings(max_examples=200, deadline=None)
@given(st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")).filter(lambda e: e[0] != e[1])))
def test_there_is_a_ring_exactly_where_somebody_can_reach_himself(pairs: set[tuple[str, str]]) -> None:
    edges: dict[str, dict[str, list[str]]] = {}
    for one, other in pairs:
        edges.setdefault(one, {})[other] = ["r"]
    reach = set(pairs)
    for _ in range(6):
        reach |= {(a, d) for a, b in reach for c, d in pairs if b == c}
    on_a_ring = {(a, b) for a, b in pairs if (b, a) in reach}
    covered: set[tuple[str, str]] = set()
    for each in rings(edges):
        assert len(set(each.members)) == len(each.members)
        assert each.members[0] == min(each.members)
        covered |= set(steps(each.members))
    assert covered == on_a_ring


def test_a_fingerprint_does_not_depend_on_who_is_named_first_but_on_the_direction() -> None:
    one = rings({"a": {"b": ["r"]}, "b": {"c": ["r"]}, "c": {"a": ["r"]}})
    other = rings({"a": {"c": ["r"]}, "c": {"b": ["r"]}, "b": {"a": ["r"]}})
    assert one[0].fingerprint == Cycle(members=("a", "b", "c")).fingerprint
    assert one[0].fingerprint != other[0].fingerprint
