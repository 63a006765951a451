"""Many hand in events, one writes: nothing acknowledged is lost, and nobody suffers for another's event."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import Future

import pytest
import sqlalchemy as sa
from tests.store.samples import note, program

from touchline.errors import EventError, StoreError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import NewEvent, last_seq, read
from touchline.store.writer import EventWriter


def test_every_thread_is_told_its_own_number(database: Database) -> None:
    told: dict[int, int] = {}

    def hand_in(first: int) -> None:
        for number in range(first, first + 20):
            told[number] = writer.append(note(number), seconds=60)

    with EventWriter(database) as writer:
        threads = [threading.Thread(target=hand_in, args=(n * 20,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {event.payload["value"]: event.seq for event in read(database)} == told
    assert len(told) == 200


def test_closing_writes_what_was_handed_in_and_takes_no_more(database: Database) -> None:
    with EventWriter(database) as writer:
        waiting = [writer.submit(note(n)) for n in range(500)]
    assert [each.result(0) for each in waiting] == list(range(1, 501))
    with pytest.raises(StoreError, match="not open"):
        writer.submit(note(1))
    with pytest.raises(StoreError, match="not open"):
        EventWriter(database).submit(note(1))


def test_closing_waits_a_bounded_time(database: Database) -> None:
    with database.writing() as connection:
        append(connection, [note(0)])
        with EventWriter(database, close_seconds=0.2) as writer:
            written = writer.submit(note(1))
            while writer._waiting:  # the thread has taken it and waits for the lock
                threading.Event().wait(0.01)
            left = writer.submit(note(2))
        with pytest.raises(StoreError, match="closed before"):
            left.result(0)
    assert written.result(60) == 2


def test_a_broken_event_is_refused_at_once_and_alone(database: Database) -> None:
    with EventWriter(database) as writer:
        before = writer.submit(note(1))
        with pytest.raises(EventError, match="reason"):
            writer.submit(NewEvent(type="task.failed", source="x"))
        assert writer.append(note(2), seconds=60) == 2
    assert before.result(0) == 1


def refuse(database: Database, source: str) -> None:
    """Let the database itself refuse events of a source."""
    with database.writing() as connection:
        if database.sqlite:
            connection.exec_driver_sql(
                f"create trigger refuse before insert on events when new.source = '{source}'"
                " begin select raise(abort, 'not from you'); end"
            )
        else:
            connection.exec_driver_sql(f"alter table events add constraint refuse check (source <> '{source}')")


def test_what_the_database_refuses_fails_alone(database: Database) -> None:
    refuse(database, "stranger")
    try:
        with EventWriter(database) as writer, database.writing() as connection:
            # While this transaction is open, all of them gather in one batch behind the first.
            append(connection, [note(0)])
            waiting = [writer.submit(note(n, source="stranger" if n == 5 else "friend")) for n in range(10)]
        failed = [n for n, each in enumerate(waiting) if each.exception(60) is not None]
        assert failed == [5]
        with pytest.raises(StoreError, match="refused the event"):
            waiting[5].result(0)
        assert [event.payload["value"] for event in read(database, 1)] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    finally:
        if not database.sqlite:
            with database.writing() as connection:
                connection.exec_driver_sql("alter table events drop constraint refuse")


def test_a_full_disk_is_told_to_those_who_wait_and_work_goes_on_after(database: Database) -> None:
    if not database.sqlite:
        pytest.skip("a full disk of a server is the server's: it takes a file system of its own")
    most = [0]

    @sa.event.listens_for(database.engine, "checkout")
    def _(connection: object, _record: object, _proxy: object) -> None:
        # SQLite's own limit of a file: what it says is what it says when the disk is full.
        connection.execute(f"pragma max_page_count={most[0] or 1_000_000}")  # type: ignore[attr-defined]

    with database.reading() as connection:
        pages = connection.exec_driver_sql("pragma page_count").scalar_one()
    long = NewEvent(type="nudge.sent", payload={"text": "x" * 5000}, source="t")
    with EventWriter(database) as writer:
        assert writer.append(long, seconds=60) == 1
        most[0] = pages + 8
        waiting: list[Future[int]] = [writer.submit(long) for _ in range(100)]
        errors = [each.exception(60) for each in waiting]
        full = [each for each in errors if isinstance(each, StoreError) and "is full" in str(each)]
        assert full
        assert len(full) == len([each for each in errors if each is not None])
        kept = last_seq(database)
        most[0] = 0
        assert writer.append(long, seconds=60) == kept + 1
    assert [event.seq for event in read(database)] == list(range(1, kept + 2))
    acknowledged = [each.result(0) for each in waiting if each.exception(0) is None]
    assert set(acknowledged) <= set(range(1, kept + 1))
    with database.reading() as connection:
        assert connection.exec_driver_sql("pragma integrity_check").scalar() == "ok"


HANDING_IN = """
import sys, threading
from touchline.store.events import NewEvent
from touchline.store.migrate import open_database
from touchline.store.writer import EventWriter
lock = threading.Lock()
def hand_in(name):
    for n in range(100_000):
        seq = writer.append(NewEvent(type="metric.recorded", payload={"name": name, "value": n}, source=name))
        with lock:
            print(seq, name, n, flush=True)
with open_database(sys.argv[1], purpose="test") as database, EventWriter(database) as writer:
    threads = [threading.Thread(target=hand_in, args=(f"t{n}",)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(database: Database) -> None:
    process = program(HANDING_IN, database.url)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(300)]
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate(timeout=60)
    lines += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    there = {(event.seq, event.source, event.payload["value"]) for event in read(database, limit=1_000_000)}
    assert len(lines) >= 300
    for line in lines:
        seq, name, number = line.split()
        assert (int(seq), name, int(number)) in there
    assert sorted(seq for seq, _, _ in there) == list(range(1, len(there) + 1))
