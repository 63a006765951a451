"""Deliveries on both databases: each subscriber for itself, once in effect, again after a crash, or given up."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from tests.store.samples import note, output_of, program

from touchline.errors import DatabaseUnreachable, EventError, StoreError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import Event
from touchline.store.log_tables import counters, events
from touchline.store.statuses import bump
from touchline.store.subscriptions import dead_letters, deliver, redeliver, subscribe, subscription_of, unsubscribe


def put(database: Database, *numbers: int, source: str = "test", type: str = "metric.recorded") -> None:
    with database.writing() as connection:
        append(connection, [note(number, source=source, type=type) for number in numbers])


def count(connection: sa.Connection, event: Event) -> None:
    """A handler that leaves a trace in the same transaction."""
    bump(connection, "counters", f"seen.{event.seq}", "value")


def counted(database: Database) -> dict[str, int]:
    with database.reading() as connection:
        rows = connection.execute(sa.select(counters.c.name, counters.c.value)).all()
    return {name.removeprefix("seen."): value for name, value in rows}


def failing_on(*seqs: int) -> Callable[[sa.Connection, Event], None]:
    def handler(connection: sa.Connection, event: Event) -> None:
        count(connection, event)
        if event.seq in seqs:
            raise ValueError(f"cannot take {event.seq}\0\ud800")

    return handler


def test_each_subscriber_has_its_own_place(database: Database) -> None:
    put(database, 1, 2, 3)
    subscribe(database, "a")
    subscribe(database, "b")
    seen: list[int] = []
    assert deliver(database, "a", lambda _, event: seen.append(event.seq), limit=2).handled == 2
    assert deliver(database, "b", lambda _, event: seen.append(event.seq)).handled == 3
    assert deliver(database, "a", lambda _, event: seen.append(event.seq)).cursor == 3
    assert seen == [1, 2, 1, 2, 3, 3]
    assert deliver(database, "a", failing_on(1, 2, 3)).handled == 0


def test_a_subscriber_gets_what_it_asked_for_and_passes_the_rest(database: Database) -> None:
    put(database, 1, source="x")
    subscribe(database, "late", start="now")
    subscribe(database, "picky", ["component.*"], ["x"])
    put(database, 2, source="x", type="component.started")
    put(database, 3, source="y", type="component.started")
    put(database, 4)
    seen: list[int] = []
    done = deliver(database, "picky", lambda _, event: seen.append(event.seq))
    assert (seen, done.handled, done.cursor) == ([2], 1, 4)
    seen.clear()
    deliver(database, "late", lambda _, event: seen.append(event.seq))
    assert seen == [2, 3, 4]


def test_subscribing_again_keeps_the_place_and_takes_the_new_wishes(database: Database) -> None:
    put(database, 1, 2)
    subscribe(database, "a")
    deliver(database, "a", count, limit=1)
    again = subscribe(database, "a", ["metric.*"], ["test"], start="now")
    assert (again.cursor, again.patterns, again.sources) == (1, ("metric.*",), ("test",))
    with pytest.raises(EventError, match="alrt"):
        subscribe(database, "a", ["alrt.*"])
    unsubscribe(database, "a")
    with pytest.raises(StoreError, match="no subscription 'a'"):
        deliver(database, "a", count)


def test_a_failure_is_counted_kept_and_ends_as_a_dead_letter(database: Database) -> None:
    put(database, 1, 2, 3)
    subscribe(database, "a")
    subscribe(database, "b")
    first = deliver(database, "a", failing_on(2), max_failures=3)
    assert (first.handled, first.failed, first.dead, first.cursor) == (1, 1, 0, 1)
    with database.reading() as connection:
        found = subscription_of(connection, "a")
    assert found.failures == 1
    assert "ValueError: cannot take 2" in found.last_error
    assert deliver(database, "a", failing_on(2), max_failures=3).failed == 1
    assert counted(database) == {"1": 1}, "what a failing handler wrote is not kept"
    last = deliver(database, "a", failing_on(2), max_failures=3)
    assert (last.handled, last.failed, last.dead, last.cursor) == (1, 0, 1, 3)
    (letter,) = dead_letters(database)
    assert (letter.subscription, letter.seq, letter.failures) == ("a", 2, 3)
    assert "cannot take 2" in letter.reason
    assert dead_letters(database, "b") == []
    assert deliver(database, "b", count).handled == 3
    with database.reading() as connection:
        assert subscription_of(connection, "a").failures == 0


def test_success_in_between_starts_the_count_anew(database: Database) -> None:
    put(database, 1, 2)
    subscribe(database, "a")
    deliver(database, "a", failing_on(1), max_failures=2)
    deliver(database, "a", count, limit=1)
    assert deliver(database, "a", failing_on(2), max_failures=2).dead == 0


def test_dead_letters_are_delivered_again_on_request(database: Database) -> None:
    put(database, 1, 2, 3)
    subscribe(database, "a")
    deliver(database, "a", failing_on(1, 2, 3), max_failures=1)
    assert [letter.seq for letter in dead_letters(database, "a")] == [1, 2, 3]
    again = redeliver(database, "a", failing_on(2))
    assert (again.handled, again.failed) == (2, 1)
    (letter,) = dead_letters(database, "a")
    assert (letter.seq, letter.failures) == (2, 2)
    assert redeliver(database, "a", count, seqs=[9]).handled == 0
    assert redeliver(database, "a", count, seqs=[2]).handled == 1
    assert dead_letters(database) == []
    assert counted(database) == {"1": 1, "2": 1, "3": 1}


def test_an_event_nobody_can_read_yet_is_set_aside_and_not_in_the_way(database: Database) -> None:
    put(database, 1, 2, 3)
    with database.writing() as connection:
        connection.execute(events.update().where(events.c.seq == 2).values(version=7))
    subscribe(database, "a")
    done = deliver(database, "a", count)
    assert (done.handled, done.dead, done.cursor) == (2, 1, 3)
    (letter,) = dead_letters(database, "a")
    assert "version 7" in letter.reason
    assert "Upgrade" in letter.reason
    with database.writing() as connection:
        connection.execute(events.update().values(version=1))
    assert redeliver(database, "a", count).handled == 1


def test_what_a_handler_appends_is_delivered_too(database: Database) -> None:
    put(database, 1)
    subscribe(database, "a", ["metric.*"])
    subscribe(database, "b", ["component.*"])

    def handler(connection: sa.Connection, event: Event) -> None:
        append(connection, [note(event.seq, type="component.started")])

    deliver(database, "a", handler)
    assert deliver(database, "b", count).handled == 1


DELIVERING = """
import os, signal, sys, time
from touchline.store.migrate import open_database
from touchline.store.statuses import bump
from touchline.store.subscriptions import deliver
url, how = sys.argv[1:]
def handler(connection, event):
    bump(connection, "counters", f"seen.{event.seq}", "value")
    print(event.seq, flush=True)
    if how == "die" and event.seq == 3 or how == "poison" and event.seq == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.005)
with open_database(url, purpose="test") as database:
    while deliver(database, "a", handler, limit=7).handled:
        pass
"""


def test_after_a_crash_in_the_handler_the_event_comes_again_and_counts_once(database: Database) -> None:
    put(database, 1, 2, 3, 4)
    subscribe(database, "a")
    assert output_of(program(DELIVERING, database.url, "die"), code=-signal.SIGKILL).split() == ["1", "2", "3"]
    assert counted(database) == {"1": 1, "2": 1}
    assert output_of(program(DELIVERING, database.url, "live")).split() == ["3", "4"]
    assert counted(database) == {"1": 1, "2": 1, "3": 1, "4": 1}


def test_an_event_that_kills_whoever_handles_it_is_given_up(database: Database) -> None:
    put(database, 1, 2, 3)
    subscribe(database, "a")
    killed = 0
    while True:
        process = program(DELIVERING, database.url, "poison")
        process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        killed += 1
        assert killed < 60
    # Once more than it is allowed: the first time it was not the first event of its round.
    assert killed >= 6
    (letter,) = dead_letters(database, "a")
    assert (letter.seq, letter.failures) == (2, 5)
    assert "its process died" in letter.reason
    assert counted(database) == {"1": 1, "3": 1}


def test_processes_that_deliver_the_same_subscription_share_the_events(database: Database) -> None:
    put(database, *range(60))
    subscribe(database, "a")
    running = [program(DELIVERING, database.url, "live") for _ in range(3)]
    handled = [int(word) for process in running for word in output_of(process).split()]
    assert sorted(handled) == list(range(1, 61)), "an event was handled twice, or not at all"
    assert set(counted(database).values()) == {1}


def test_a_database_that_is_away_is_nobodys_failure(database: Database) -> None:
    put(database, 1)
    subscribe(database, "a")

    def cut_off(connection: sa.Connection, event: Event) -> None:
        raise DatabaseUnreachable("The server closed the connection.")

    for _ in range(7):
        with pytest.raises(DatabaseUnreachable):
            deliver(database, "a", cut_off)
    assert dead_letters(database, "a") == []
    seen: list[int] = []
    assert deliver(database, "a", lambda _, event: seen.append(event.seq)).handled == 1
    assert seen == [1]
