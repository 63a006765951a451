"""Who has seen which event? A cursor per subscriber, moved in the same transaction as what the subscriber wrote.

A handler that writes through the connection it is given takes effect once, whatever crashes; anything else it does may
happen again, so what must leave the database goes through the outbox. On SQLite a handler holds the write lock: it is
short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from touchline.errors import DatabaseUnreachable, EventError, StoreError
from touchline.store.columns import new_id, now
from touchline.store.database import Database
from touchline.store.events import EVERYTHING, Event, check_patterns, last_seq, next_seq, read
from touchline.store.failure import told
from touchline.store.log_tables import dead_letters as letters
from touchline.store.log_tables import subscriptions
from touchline.store.statuses import bump

Handler = Callable[[sa.Connection, Event], None]
"""Called with the connection of the transaction that moves the cursor. It must neither commit nor roll back."""


_BEGUN = "begun, and not come back from, by "
_OURSELVES = _BEGUN + uuid4().hex[:12]
_TOGETHER_SECONDS = 1.0
"""Who begins so soon after another does it beside him: only beginnings that were left alone are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What somebody wants to see, and how far they are."""

    name: str
    patterns: tuple[str, ...]
    sources: tuple[str, ...]
    cursor: int
    """The number of the last event that needs no more attention."""
    failures: int
    """How often the handler failed on the event after the cursor."""
    last_error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What one round of deliveries did."""

    handled: int = 0
    failed: int = 0
    """1 when the round ended because the handler failed; the same event comes again in the next round."""
    dead: int = 0
    """Events given up for good and put among the dead letters."""
    cursor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An event that could not be delivered to one subscriber."""

    subscription: str
    seq: int
    failures: int
    reason: str
    at: datetime


def subscribe(
    database: Database,
    name: str,
    patterns: Sequence[str] = EVERYTHING,
    sources: Sequence[str] = (),
    *,
    start: Literal["beginning", "now"] = "beginning",
) -> Subscription:
    """Make or change a subscription. One that exists keeps its place; `start` is for a new one."""
    check_patterns(patterns)
    with database.writing() as connection:
        insert = (sqlite.insert if database.sqlite else postgresql.insert)(subscriptions)
        wanted = {"patterns": list(patterns), "sources": list(sources), "updated_at": now()}
        cursor = last_seq(connection) if start == "now" else 0
        connection.execute(
            insert.values(name=name, cursor=cursor, **wanted).on_conflict_do_update(
                index_elements=["name"], set_=wanted
            )
        )
        return subscription_of(connection, name)


def subscription_of(connection: sa.Connection, name: str, *, lock: bool = False) -> Subscription:
    """The subscription of that name, held against other deliveries when `lock` is set."""
    query = sa.select(subscriptions).where(subscriptions.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise StoreError(f"There is no subscription {name!r}.", hint="Call subscribe first.")
    return Subscription(
        name=row["name"],
        patterns=tuple(row["patterns"]),
        sources=tuple(row["sources"]),
        cursor=row["cursor"],
        failures=row["failures"],
        last_error=row["last_error"],
    )


def unsubscribe(database: Database, name: str) -> None:
    """Forget a subscription and its dead letters. The events stay."""
    with database.writing() as connection:
        connection.execute(letters.delete().where(letters.c.subscription == name))
        connection.execute(subscriptions.delete().where(subscriptions.c.name == name))


def deliver(database: Database, name: str, handler: Handler, *, limit: int = 100, max_failures: int = 5) -> Delivered:
    """Hand the next events to the handler, one transaction each, oldest first.

    Two processes may do this at once for the same name: each event is handled by one of them. A handler that raises
    ends the round; after `max_failures` on the same event, that event becomes a dead letter and the round goes on. So
    does one whose handler ends the process: a round says before its first event that it begins.
    """
    handled = 0
    dead = int(_has_news(database, name) and _begun(database, name, max_failures))
    while handled + dead < limit and _has_news(database, name):
        at: Subscription | None = None
        event_seq: int | None = None
        readable = False
        try:
            with database.writing() as connection:
                at = subscription_of(connection, name, lock=True)
                end = last_seq(connection)
                event_seq = next_seq(connection, at.cursor, patterns=at.patterns, sources=at.sources, upto=end)
                if event_seq is not None:
                    (event,) = read(connection, event_seq - 1, upto=event_seq)
                    readable = True
                    handler(connection, event)
                _moved(connection, name, end if event_seq is None else event_seq)
        except DatabaseUnreachable:
            # Nobody's fault here: the event is delivered when the database is back.
            raise
        except Exception as error:
            if at is None or event_seq is None:
                raise
            # What cannot be understood will not be understood at the fifth look either.
            hopeless = not readable and isinstance(error, EventError)
            given_up = _failed(database, at, event_seq, error, 1 if hopeless else max_failures)
            if given_up is None:
                continue
            if not given_up:
                return Delivered(handled=handled, failed=1, dead=dead, cursor=at.cursor)
            dead += 1
        else:
            handled += event_seq is not None
    with database.reading() as connection:
        return Delivered(handled=handled, dead=dead, cursor=subscription_of(connection, name).cursor)


def dead_letters(database: Database, name: str | None = None) -> list[DeadLetter]:
    """What could not be delivered, oldest event first; of one subscription, or of all."""
    query = sa.select(letters).order_by(letters.c.seq, letters.c.subscription)
    if name is not None:
        query = query.where(letters.c.subscription == name)
    with database.reading() as connection:
        rows: Sequence[Any] = connection.execute(query).mappings().all()
    return [DeadLetter(**{each: row[each] for each in DeadLetter.__dataclass_fields__}) for row in rows]


def redeliver(database: Database, name: str, handler: Handler, *, seqs: Sequence[int] | None = None) -> Delivered:
    """Try dead letters again: all of a subscription, or some. What succeeds is no dead letter any more."""
    handled = failed = 0
    for letter in dead_letters(database, name):
        if seqs is not None and letter.seq not in seqs:
            continue
        this = sa.and_(letters.c.subscription == name, letters.c.seq == letter.seq)
        try:
            with database.writing() as connection:
                subscription_of(connection, name, lock=True)
                if not connection.execute(letters.delete().where(this)).rowcount:
                    continue
                (event,) = read(connection, letter.seq - 1, upto=letter.seq)
                handler(connection, event)
        except Exception as error:
            failed += 1
            with database.writing() as connection:
                id = connection.execute(sa.select(letters.c.id).where(this)).scalar()
                if id is not None:
                    bump(connection, "dead_letters", id, "failures")
                    connection.execute(letters.update().where(this).values(reason=told(error)))
        else:
            handled += 1
    with database.reading() as connection:
        return Delivered(handled=handled, failed=failed, cursor=subscription_of(connection, name).cursor)


def _has_news(database: Database, name: str) -> bool:
    """A look without the write lock: most rounds find nothing."""
    with database.reading() as connection:
        return subscription_of(connection, name).cursor < last_seq(connection)


def _begun(database: Database, name: str, allowed: int) -> bool:
    """Count that somebody begins with the next event; true when it was given up, because nobody ever came back."""
    with database.writing() as connection:
        at = subscription_of(connection, name, lock=True)
        seq = next_seq(connection, at.cursor, patterns=at.patterns, sources=at.sources, upto=last_seq(connection))
        if seq is None:
            return False
        this = subscriptions.c.name == name
        if at.last_error == _OURSELVES:
            return False  # We live, and the database was away: that is counted against nobody.
        if at.last_error.startswith(_BEGUN):
            since = connection.execute(sa.select(subscriptions.c.updated_at).where(this)).scalar_one()
            if (now() - since).total_seconds() < _TOGETHER_SECONDS:
                return False
            if at.failures >= allowed:
                _give_up(connection, name, seq, at.failures, f"Begun {at.failures} times, and its process died.")
                return True
        bump(connection, "subscriptions", name, "failures")
        connection.execute(subscriptions.update().where(this).values(last_error=_OURSELVES, updated_at=now()))
        return False


def _moved(connection: sa.Connection, name: str, cursor: int) -> None:
    connection.execute(
        subscriptions.update()
        .where(subscriptions.c.name == name)
        .values(cursor=cursor, failures=0, last_error="", updated_at=now())
    )


def _failed(database: Database, at: Subscription, seq: int, error: Exception, allowed: int) -> bool | None:
    """Count the failure; true when the event was given up, None when another process has dealt with it meanwhile."""
    with database.writing() as connection:
        stands = subscription_of(connection, at.name, lock=True)
        if stands.cursor != at.cursor:
            return None
        counted = stands.last_error.startswith(_BEGUN)
        failures = stands.failures if counted else bump(connection, "subscriptions", at.name, "failures")
        if failures < allowed:
            connection.execute(
                subscriptions.update()
                .where(subscriptions.c.name == at.name)
                .values(last_error=told(error), updated_at=now())
            )
            return False
        _give_up(connection, at.name, seq, failures, told(error))
        return True


def _give_up(connection: sa.Connection, name: str, seq: int, failures: int, reason: str) -> None:
    letter = {"subscription": name, "seq": seq, "failures": failures, "reason": reason, "at": now()}
    connection.execute(letters.insert().values(id=new_id("letter"), **letter))
    _moved(connection, name, seq)
