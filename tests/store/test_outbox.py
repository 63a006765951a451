"""The outbox on both databases: nothing without its decision, nothing lost, and one delivery per key for a receiver."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.store.samples import output_of, program

from touchline.errors import StatusError, StoreError
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.outbox import MAX_BACKOFF, Delivery, Sent, backoff, enqueue, parcels, send_due, try_again


def put(database: Database, *keys: str) -> None:
    with database.writing() as connection:
        for key in keys:
            assert enqueue(connection, key=key, channel="chat", destination="me", body={"text": key})


def at_once(_: int) -> timedelta:
    return timedelta(0)


class Receiver:
    """Keeps what it gets; fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.got: list[Delivery] = []
        self.failures = failures

    def __call__(self, delivery: Delivery) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no line\0")
        self.got.append(delivery)


def test_a_delivery_is_sent_once_with_its_key(database: Database) -> None:
    put(database, "a", "b")
    receiver = Receiver()
    assert send_due(database, receiver, worker="w") == Sent(sent=2)
    assert send_due(database, receiver, worker="w") == Sent()
    assert receiver.got[0] == Delivery(key="a", channel="chat", destination="me", body={"text": "a"}, attempt=1)
    assert [(parcel.key, parcel.status, parcel.attempts) for parcel in parcels(database)] == [
        ("b", "sent", 1),
        ("a", "sent", 1),
    ]
    assert parcels(database)[0].sent_at is not None


def test_the_same_key_is_one_delivery(database: Database) -> None:
    put(database, "a")
    with database.writing() as connection:
        assert not enqueue(connection, key="a", channel="mail", destination="you", body="other")
    receiver = Receiver()
    send_due(database, receiver, worker="w")
    with database.writing() as connection:
        assert not enqueue(connection, key="a", channel="chat", destination="me", body="after it was sent")
    send_due(database, receiver, worker="w")
    assert [delivery.body for delivery in receiver.got] == [{"text": "a"}]
    with pytest.raises(StoreError, match="key must have 1 to 200"), database.writing() as connection:
        enqueue(connection, key="", channel="chat", destination="me", body=1)


def test_two_who_decide_the_same_at_once_make_one_delivery(database: Database) -> None:
    made: list[bool] = []

    def decide() -> None:
        with database.writing() as connection:
            made.append(enqueue(connection, key="same", channel="chat", destination="me", body=1))

    threads = [threading.Thread(target=decide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, False, False, True]


def test_no_decision_no_delivery(database: Database) -> None:
    def undecided() -> None:
        with database.writing() as connection:
            enqueue(connection, key="a", channel="chat", destination="me", body=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        undecided()
    assert parcels(database) == []


def test_nothing_is_sent_before_its_time(database: Database) -> None:
    with database.writing() as connection:
        later = now() + timedelta(hours=1)
        enqueue(connection, key="later", channel="chat", destination="me", body=1, at=later)
    assert send_due(database, Receiver(), worker="w") == Sent()


def test_a_failure_is_kept_and_tried_again_later(database: Database) -> None:
    put(database, "a", "b")
    receiver = Receiver(failures=1)
    assert send_due(database, receiver, worker="w") == Sent(sent=1, retried=1)
    (waiting,) = parcels(database, status="pending")
    assert (waiting.key, waiting.attempts) == ("a", 1)
    assert "ConnectionError: no line" in waiting.last_error
    assert waiting.next_at > now()
    assert send_due(database, receiver, worker="w") == Sent(), "it is not due yet"


def test_what_cannot_be_sent_is_given_up_in_sight_and_can_be_tried_again(database: Database) -> None:
    put(database, "a")
    receiver = Receiver(failures=3)
    assert send_due(database, receiver, worker="w", max_attempts=3, wait=at_once) == Sent(retried=2, failed=1)
    assert send_due(database, receiver, worker="w", wait=at_once) == Sent()
    (failed,) = parcels(database, status="failed")
    assert (failed.attempts, failed.sent_at) == (3, None)
    with database.writing() as connection:
        try_again(connection, "a")
    assert send_due(database, receiver, worker="w") == Sent(sent=1)
    assert receiver.got[0].key == "a"
    with pytest.raises(StatusError, match="not 'failed'"), database.writing() as connection:
        try_again(connection, "a")
    with pytest.raises(StoreError, match="no delivery 'z'"), database.writing() as connection:
        try_again(connection, "z")


def test_the_waits_grow_up_to_an_hour() -> None:
    waits = [backoff(attempt) for attempt in range(1, 200)]
    assert waits[0] == timedelta(seconds=5)
    assert waits == sorted(waits)
    assert waits[-1] == MAX_BACKOFF


def test_a_claim_that_ran_out_is_taken_over_and_the_late_one_changes_nothing(database: Database) -> None:
    put(database, "a")
    receiver = Receiver()

    def slow(delivery: Delivery) -> None:
        # While the first sender is at it, its claim runs out and a second one sends; then the first one fails.
        assert send_due(database, receiver, worker="second") == Sent(sent=1)
        raise TimeoutError(delivery.key)

    send_due(database, slow, worker="first", lease_seconds=0)
    assert [(delivery.key, delivery.attempt) for delivery in receiver.got] == [("a", 2)]
    assert [parcel.status for parcel in parcels(database)] == ["sent"]


def test_a_live_claim_is_respected(database: Database) -> None:
    put(database, "a")

    def sender(_: Delivery) -> None:
        assert send_due(database, Receiver(), worker="second") == Sent()

    assert send_due(database, sender, worker="first") == Sent(sent=1)


def test_a_late_success_counts_although_another_has_failed_meanwhile(database: Database) -> None:
    put(database, "a")

    def slow(_: Delivery) -> None:
        assert send_due(database, Receiver(failures=1), worker="second") == Sent(retried=1)

    assert send_due(database, slow, worker="first", lease_seconds=0) == Sent(sent=1)
    assert [parcel.status for parcel in parcels(database)] == ["sent"]


SENDING = """
import os, signal, sys
from pathlib import Path
from touchline.store.migrate import open_database
from touchline.store.outbox import send_due
url, inbox, how, worker = sys.argv[1:]
def sender(delivery):
    if how == "die before":
        os.kill(os.getpid(), signal.SIGKILL)
    with (Path(inbox) / "arrivals").open("a") as arrivals:
        arrivals.write(f"{delivery.key} {delivery.attempt}\\n")
    try:
        (Path(inbox) / delivery.key).touch(exist_ok=False)
    except FileExistsError:
        return  # the receiver knows this key: nothing happens a second time
    with (Path(inbox) / "effects").open("a") as effects:
        effects.write(f"{delivery.key}\\n")
    if how == "die after":
        os.kill(os.getpid(), signal.SIGKILL)
with open_database(url, purpose="test") as database:
    lease = 0.05 if how.startswith("die") else 60
    print(send_due(database, sender, worker=worker, limit=100, lease_seconds=lease))
"""


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_sender_killed_before_or_after_sending_loses_nothing_and_doubles_nothing(
    database: Database, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    put(database, "a")
    for how in ("die before", "die after"):
        output_of(program(SENDING, database.url, str(inbox), how, "dead"), code=-signal.SIGKILL)
    assert [parcel.status for parcel in parcels(database)] == ["sending"]
    output_of(program(SENDING, database.url, str(inbox), "live", "alive"))
    assert lines(inbox / "arrivals") == ["a 2", "a 3"], "sent again with the same key"
    assert lines(inbox / "effects") == ["a"]
    assert [parcel.status for parcel in parcels(database)] == ["sent"]


def test_a_delivery_that_kills_its_senders_is_given_up_too(database: Database) -> None:
    put(database, "a")

    def died(_: Delivery) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            send_due(database, died, worker="w", lease_seconds=0, max_attempts=2)
    assert send_due(database, died, worker="w", max_attempts=2) == Sent(failed=1)
    (failed,) = parcels(database, status="failed")
    assert "Claimed 2 times, last by w" in failed.last_error


def test_many_senders_share_the_work(database: Database, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    put(database, *(f"k{n}" for n in range(40)))
    running = [program(SENDING, database.url, str(inbox), "live", f"w{n}") for n in range(3)]
    for process in running:
        output_of(process)
    assert sorted(lines(inbox / "arrivals")) == sorted(f"k{n} 1" for n in range(40))
    assert {parcel.status for parcel in parcels(database)} == {"sent"}
