"""What has to reach a person or another system? Written with the decision, sent afterwards, with a key that stays.

The row commits in the transaction that made the decision: no decision without its delivery, no delivery without it. A
sender that dies between sending and marking sends again once its claim has run out, with the same key: a receiver that
knows keys sees one delivery. No database can promise more about a system outside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from touchline.errors import StoreError
from touchline.store.clock import time_of
from touchline.store.database import Database
from touchline.store.failure import told
from touchline.store.fault_points import fault_point
from touchline.store.log_tables import outbox
from touchline.store.statuses import bump, create_once, move, status_of

MAX_ATTEMPTS = 8
MAX_BACKOFF = timedelta(hours=1)
_MAX_KEY, _MAX_WORD = 200, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One thing to be sent, as a sender gets it."""

    key: str
    """The idempotency key: the same at every attempt. Hand it to the receiver."""
    channel: str
    destination: str
    body: Any
    attempt: int
    """1 at the first attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What one round of sending did."""

    sent: int = 0
    retried: int = 0
    """Failed, to be tried again later."""
    failed: int = 0
    """Given up: their rows have the status `failed`, and stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A row of the outbox, as people see it."""

    key: str
    channel: str
    destination: str
    status: str
    attempts: int
    next_at: datetime
    last_error: str
    created_at: datetime
    sent_at: datetime | None


Sender = Callable[[Delivery], None]
"""Sends, outside of any transaction, and raises when it could not. It takes less time than the claim lasts."""


def enqueue(
    connection: sa.Connection, *, key: str, channel: str, destination: str, body: Any, at: datetime | None = None
) -> bool:
    """Put a delivery into the caller's transaction, to be sent from `at` on. False when the key is there already."""
    for name, value, most in (("key", key, _MAX_KEY), ("channel", channel, _MAX_WORD)):
        if not value or len(value) > most:
            raise StoreError(f"The outbox's {name} must have 1 to {most} characters, but is {value!r}.")
    made = create_once(
        connection,
        "outbox",
        unique="key",
        key=key,
        channel=channel,
        destination=destination,
        body=body,
        next_at=at or time_of(connection),
    )
    fault_point("outbox.enqueued")
    return made is not None


def backoff(attempt: int) -> timedelta:
    """How long to wait after the given attempt failed: 5 s, 10 s, 20 s and so on, at most an hour."""
    return min(MAX_BACKOFF, timedelta(seconds=5 * 2 ** (min(attempt, 20) - 1)))


def send_due(
    database: Database,
    sender: Sender,
    *,
    worker: str,
    limit: int = 20,
    lease_seconds: float = 60,
    max_attempts: int = MAX_ATTEMPTS,
    wait: Callable[[int], timedelta] = backoff,
) -> Sent:
    """Send what is due, at most `limit` of them; any number of workers may do so at once.

    Each is claimed right before it is sent, so that a slow one does not let the claims of others run out.
    """
    sent = retried = failed = 0
    for _ in range(limit):
        claimed, given_up = _claim(database, worker, lease_seconds, max_attempts)
        failed += given_up
        if claimed is None:
            if given_up:
                continue
            break
        id, delivery = claimed
        fault_point("outbox.claimed")
        try:
            sender(delivery)
        except Exception as error:
            final = delivery.attempt >= max_attempts
            _mark_failed(database, id, worker, delivery.attempt, error, None if final else wait(delivery.attempt))
            failed, retried = failed + final, retried + (not final)
        else:
            fault_point("outbox.sent")
            _mark_sent(database, id)
            sent += 1
    return Sent(sent=sent, retried=retried, failed=failed)


def parcels(database: Database, *, status: str | None = None, limit: int = 100) -> list[Parcel]:
    """What is in the outbox, newest first."""
    query = sa.select(*(outbox.c[name] for name in Parcel.__dataclass_fields__)).order_by(outbox.c.id.desc())
    if status is not None:
        query = query.where(outbox.c.status == status)
    with database.reading() as connection:
        rows: Sequence[Any] = connection.execute(query.limit(limit)).mappings().all()
    return [Parcel(**row) for row in rows]


def try_again(connection: sa.Connection, key: str) -> None:
    """Send a given-up delivery once more, now. It keeps its key and its count of attempts starts anew."""
    id = connection.execute(sa.select(outbox.c.id).where(outbox.c.key == key)).scalar()
    if id is None:
        raise StoreError(f"The outbox has no delivery {key!r}.", hint="Check the key.")
    move(connection, "outbox", id, "pending", expect="failed", attempts=0, next_at=time_of(connection))


def _due(moment: datetime) -> sa.Select[Any]:
    """The next delivery whose time has come, or whose sender never came back."""
    due = sa.or_(
        sa.and_(outbox.c.status == "pending", outbox.c.next_at <= moment),
        sa.and_(outbox.c.status == "sending", outbox.c.claimed_until <= moment),
    )
    return sa.select(outbox).where(due).order_by(outbox.c.next_at, outbox.c.id).limit(1)


def _claim(
    database: Database, worker: str, lease_seconds: float, max_attempts: int
) -> tuple[tuple[str, Delivery] | None, int]:
    """The next due delivery, ours for a while; or how many were given up because their senders never came back."""
    with database.reading() as connection:
        if connection.execute(_due(time_of(connection))).first() is None:
            return None, 0
    with database.writing() as connection:
        moment = time_of(connection)
        row = connection.execute(_due(moment).with_for_update(skip_locked=True)).mappings().first()
        if row is None:
            return None, 0
        id: str = row["id"]
        if row["attempts"] >= max_attempts:
            words = f"Claimed {row['attempts']} times, last by {row['claimed_by']}, and never marked: its senders died."
            move(connection, "outbox", id, "failed", expect=row["status"], last_error=words, **_FREE)
            return None, 1
        until = moment + timedelta(seconds=lease_seconds)
        move(connection, "outbox", id, "sending", expect=row["status"], claimed_by=worker, claimed_until=until)
        attempt = bump(connection, "outbox", id, "attempts")
    return (
        id,
        Delivery(
            key=row["key"],
            channel=row["channel"],
            destination=row["destination"],
            body=row["body"],
            attempt=attempt,
        ),
    ), 0


_FREE: dict[str, Any] = {"claimed_by": None, "claimed_until": None}


def _mark_sent(database: Database, id: str) -> None:
    """It was sent, whoever holds the claim by now."""
    with database.writing() as connection:
        _held(connection, id)
        if status_of(connection, "outbox", id) != "sent":
            move(connection, "outbox", id, "sent", sent_at=time_of(connection), last_error="", **_FREE)
        fault_point("outbox.marked")


def _mark_failed(
    database: Database, id: str, worker: str, attempt: int, error: Exception, wait: timedelta | None
) -> None:
    """Unless the claim ran out and somebody else has it: then the result is theirs to write."""
    with database.writing() as connection:
        row = _held(connection, id)
        if (row["status"], row["claimed_by"], row["attempts"]) != ("sending", worker, attempt):
            return
        if wait is None:
            move(connection, "outbox", id, "failed", last_error=told(error), **_FREE)
        else:
            move(
                connection, "outbox", id, "pending", last_error=told(error), next_at=time_of(connection) + wait, **_FREE
            )


def _held(connection: sa.Connection, id: str) -> sa.RowMapping:
    query = sa.select(outbox.c.status, outbox.c.claimed_by, outbox.c.attempts).where(outbox.c.id == id)
    return connection.execute(query.with_for_update()).mappings().one()
