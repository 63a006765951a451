"""Waiting: who is woken by what, in which order, and that nobody waits for ever on behalf of the dead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.coordination.noon import at
from tests.coordination.test_leases import denied, granted, held

from touchline.coordination import waits
from touchline.coordination.leases import Denied, Granted, acquire, expire, release, withdraw
from touchline.coordination.waiting import wait_for
from touchline.store.database import Database
from touchline.store.events import read


def woken(database: Database) -> set[str]:
    with database.reading() as connection:
        return {wait.waiter for wait in waits.all_waits(connection) if wait.woken_at}


def waiting(database: Database) -> dict[str, tuple[str, ...]]:
    with database.reading() as connection:
        return {wait.waiter: wait.resources for wait in waits.all_waits(connection)}


def told_waiters(database: Database) -> list[list[str]]:
    return [e.payload["waiters"] for e in read(database, patterns=["lock.released", "lock.expired"])]


def test_a_denied_request_waits_for_all_it_wants_and_a_grant_ends_the_wait(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    denied(database, "bob", "a", "b", now=at(1))
    assert waiting(database) == {"bob": ("a", "b")}
    denied(database, "bob", "a", "c", now=at(2))
    assert waiting(database) == {"bob": ("a", "c")}
    release(database, holder="ann", now=at(3))
    granted(database, "bob", "a", "c", now=at(4))
    assert waiting(database) == {}


def test_the_release_wakes_the_highest_priority_then_the_longest_wait(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    denied(database, "early", "a", now=at(1))
    denied(database, "late", "a", now=at(2))
    denied(database, "urgent", "a", now=at(3), priority=5)
    has_it = "ann"
    for turn, expected in enumerate(("urgent", "early", "late")):
        release(database, holder=has_it, now=at(10 + turn))
        assert woken(database) == {expected}
        granted(database, expected, "a", now=at(10 + turn))
        has_it = expected
    assert told_waiters(database) == [["urgent"], ["early"], ["late"]]


def test_age_counts_from_the_first_request_not_from_the_last_try(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    denied(database, "early", "a", now=at(1))
    denied(database, "late", "a", now=at(2))
    denied(database, "early", "a", now=at(3))
    release(database, holder="ann", now=at(4))
    assert woken(database) == {"early"}


def test_only_those_who_can_have_everything_are_woken_and_all_of_them(database: Database) -> None:
    granted(database, "ann", "a", "b", now=at(0))
    granted(database, "amy", "c", now=at(0))
    denied(database, "greedy", "a", "c", now=at(1))
    denied(database, "one", "a", now=at(2))
    denied(database, "two", "b", now=at(3))
    release(database, holder="ann", now=at(4))
    assert woken(database) == {"one", "two"}


def test_what_is_freed_for_a_waiter_cannot_be_snatched_but_is_not_kept_for_ever(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    denied(database, "bob", "a", now=at(1))
    release(database, holder="ann", now=at(2))
    answer = denied(database, "newcomer", "a", now=at(3))
    assert (answer.holder, answer.blockers[0].reason) == ("bob", "kept")
    denied(database, "ann", "a", now=at(4))
    assert expire(database, at(3 + waits.KEPT_SECONDS)) == ()
    # Bob did not come: the next in line is woken as well, and whoever asks first has it.
    assert woken(database) == {"bob", "newcomer"}
    granted(database, "newcomer", "a", now=at(4 + waits.KEPT_SECONDS))
    assert woken(database) == set()


def test_a_higher_priority_passes_somebody_who_was_woken(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    denied(database, "bob", "a", now=at(1))
    release(database, holder="ann", now=at(2))
    granted(database, "urgent", "a", priority=1, now=at(3))
    assert woken(database) == set()
    assert waiting(database) == {"bob": ("a",)}


def test_who_wants_much_is_not_starved_by_those_who_want_little(database: Database) -> None:
    """Of a and b one is always held by somebody who came later and wants it alone."""
    granted(database, "s0", "a", now=at(0))
    denied(database, "big", "a", "b", priority=9, now=at(0))
    for second in range(1, 200):
        small = acquire(database, holder=f"s{second}", resources=["b" if second % 2 else "a"], now=at(second))
        release(database, holder=f"s{second - 1}", now=at(second))
        big = acquire(database, holder="big", resources=["a", "b"], priority=9, now=at(second))
        if isinstance(big, Granted):
            break
        if second < waits.PATIENT_SECONDS:
            assert isinstance(small, Granted), "while it has not waited for long, nobody waits for it"
    assert second <= waits.PATIENT_SECONDS + 2
    # Who came later waited, is recorded as such, and is woken when it is over.
    assert set(waiting(database)) == {f"s{second}"}
    assert isinstance(small, Denied)
    assert (small.holder, small.blockers[0].reason) == ("big", "kept")
    release(database, holder="big", now=at(second + 1))
    assert woken(database) == {f"s{second}"}


def test_a_reservation_stops_nobody_who_holds_something_and_so_closes_no_ring(database: Database) -> None:
    late = 2 * waits.PATIENT_SECONDS
    granted(database, "ann", "a", now=at(0))
    denied(database, "big", "a", "b", now=at(0))
    denied(database, "big", "a", "b", now=at(late))
    assert denied(database, "newcomer", "b", now=at(late)).holder == "big"
    # Ann needs b, too, before she gives back a; newcomer, who has nothing, is not woken before big.
    granted(database, "ann", "b", now=at(late + 1))
    release(database, holder="ann", now=at(late + 2))
    assert woken(database) == {"big"}
    granted(database, "big", "a", "b", now=at(late + 3))


def test_nothing_is_reserved_against_a_higher_priority_nor_for_one_who_no_longer_asks(database: Database) -> None:
    late = 2 * waits.PATIENT_SECONDS
    granted(database, "ann", "a", now=at(0))
    denied(database, "gone", "a", "b", now=at(0))
    granted(database, "one", "b", now=at(late))
    release(database, holder="one", now=at(late))
    denied(database, "gone", "a", "b", now=at(late + 1))
    denied(database, "two", "b", now=at(late + 2))
    granted(database, "urgent", "b", priority=1, now=at(late + 3))


def test_two_who_want_much_and_hold_nothing_do_not_reserve_each_other_away(database: Database) -> None:
    late = 2 * waits.PATIENT_SECONDS
    granted(database, "ann", "a", now=at(0))
    for who in ("first", "second"):
        denied(database, who, "a", "b", now=at(1))
        denied(database, who, "a", "b", now=at(late))
    release(database, holder="ann", now=at(late + 1))
    assert woken(database) == {"first"}
    granted(database, "first", "a", "b", now=at(late + 2))
    release(database, holder="first", now=at(late + 3))
    granted(database, "second", "a", "b", now=at(late + 4))


def test_expiry_wakes_too(database: Database) -> None:
    granted(database, "dead", "a", now=at(0), seconds=10)
    denied(database, "bob", "a", now=at(1))
    expire(database, at(10))
    assert woken(database) == {"bob"}
    assert told_waiters(database) == [["bob"]]


def test_the_wait_of_the_dead_ends(database: Database) -> None:
    granted(database, "ann", "a", now=at(0), seconds=10_000)
    denied(database, "dead", "a", now=at(1))
    denied(database, "bob", "a", now=at(1000))
    expire(database, at(1 + waits.WAIT_SECONDS))
    assert set(waiting(database)) == {"bob"}


def test_whoever_gives_up_or_releases_all_waits_no_longer(database: Database) -> None:
    granted(database, "ann", "a", now=at(0))
    granted(database, "bob", "b", now=at(0))
    denied(database, "bob", "a", now=at(1))
    withdraw(database, holder="bob", now=at(2))
    assert waiting(database) == {}
    assert held(database, 2) == {"a": "ann", "b": "bob"}
    denied(database, "bob", "a", now=at(3))
    release(database, holder="bob", now=at(4))
    assert waiting(database) == {}


def test_waiting_ends_with_the_lease_when_it_is_released(database: Database) -> None:
    granted(database, "ann", "a", "b")
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(wait_for, database, holder="bob", resources=["a", "b"], timeout=60)
        until(lambda: "bob" in waiting(database))
        release(database, holder="ann")
        got = answer.result(timeout=30)
    assert isinstance(got, Granted)
    assert set(held(database).values()) == {"bob"}


def test_waiting_ends_when_the_dead_holders_lease_runs_out_without_anybody_ringing(database: Database) -> None:
    token = granted(database, "dead", "a", seconds=0.5).token
    got = wait_for(database, holder="bob", resources=["a"], timeout=60)
    assert isinstance(got, Granted)
    assert got.token > token


def test_waiting_in_vain_ends_with_the_time_and_leaves_no_wait(database: Database) -> None:
    granted(database, "ann", "a")
    got = wait_for(database, holder="bob", resources=["a"], timeout=0.3)
    assert isinstance(got, Denied)
    assert got.holder == "ann"
    assert waiting(database) == {}


def test_waiting_can_be_stopped(database: Database) -> None:
    granted(database, "ann", "a")
    stop = threading.Event()
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(wait_for, database, holder="bob", resources=["a"], timeout=600, stop=stop)
        until(lambda: "bob" in waiting(database))
        stop.set()
        assert isinstance(answer.result(timeout=30), Denied)
    assert waiting(database) == {}


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
