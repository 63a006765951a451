"""Who may touch this file or resource now? Leases for a time, all or nothing, each grant with a higher token.

A lease ends by release or by expiry, never by hope: whoever writes for a holder checks the token in the transaction of
the write (`check_token`). The same holder may ask again and gets a new token; the old one is stale then, so that what
is left of a crashed run cannot write beside its successor. Denied requests are recorded as waits.

A holder is named after what its leases live as long as. A job's own name outlives the process that runs it: whoever
goes on with the job asks again under that name, and meanwhile nobody takes its files. `in_process` names a holder that
dies with its process: what it has is given back as soon as that process is found dead (`release_dead`).
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from touchline.coordination import cycles, deadlocks, lock_events, waits
from touchline.coordination.lock_events import Blocker, Ended
from touchline.coordination.section import enter, time_of
from touchline.errors import InputError, LeaseError
from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import Ids, NewEvent
from touchline.store.fault_points import fault_point
from touchline.store.statuses import bump
from touchline.store.tables import leases
from touchline.store.tables import waits as wait_rows

LEASE_SECONDS = 1800
"""How long a lease lives without being renewed."""
_TOKENS = "lease_token"


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Everything that was asked for is the holder's until then."""

    holder: str
    resources: tuple[str, ...]
    token: int
    """Higher than every token before it, on this database, for ever."""
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Nothing was granted; the wait is recorded."""

    resource: str
    """The first resource in the way, by name."""
    holder: str
    """Who has that one, or for whom it is kept."""
    blockers: tuple[Blocker, ...]
    """Everything in the way."""
    cycles: tuple[cycles.Cycle, ...] = ()
    """Rings of waiting that this request closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One resource in somebody's hands."""

    resource: str
    holder: str
    token: int
    granted_at: datetime
    expires_at: datetime


def repository_mark(repository: Path) -> str:
    """A short name for a repository on this machine: one database serves all that a person has."""
    return hashlib.sha256(str(repository.resolve()).encode()).hexdigest()[:12]


def file_resource(path: str, repository: Path) -> str:
    """The name of a file's lease: one file in a repository has one name, however its path was spelled."""
    plain = posixpath.normpath(path.replace("\\", "/"))
    if plain.startswith(("/", "../")) or plain in (".", ".."):
        raise InputError(f"{path!r} is no path inside the repository.", hint="Give it relative to the top folder.")
    return f"file:{repository_mark(repository)}:{plain}"


def in_process(executor: str, what: str) -> str:
    """The name of a holder whose leases shall not outlive a process, by the executor's name (`Flow.executor`)."""
    return f"{executor}/{what}"


def acquire(
    database: Database,
    *,
    holder: str,
    resources: Sequence[str],
    priority: int = 0,
    seconds: float = LEASE_SECONDS,
    ids: Ids | None = None,
    now: datetime | None = None,
) -> Granted | Denied:
    """All of the resources, or none and a recorded wait. Among waiters the higher priority goes first."""
    wanted = _checked(holder, resources)
    about = ids or Ids()
    fault_point("lease.acquiring")
    with database.writing() as connection:
        moment = enter(connection, now)
        gone = _sweep(connection, moment)
        blockers = _in_the_way(connection, holder, wanted, priority, moment)
        told: list[NewEvent] = []
        granted: Granted | None = None
        if not blockers:
            granted = _grant(connection, holder, wanted, seconds, moment)
            told = lock_events.granted(
                holder, wanted, token=granted.token, expires_at=granted.expires_at, priority=priority, ids=about
            )
        elif waits.record(connection, waiter=holder, resources=wanted, priority=priority, now=moment):
            # Once per wait, not once per try.
            told = lock_events.denied(holder, blockers, priority=priority, ids=about)
        formed = _settle(connection, moment, gone, told)
        fault_point("lease.acquired")
        if granted is not None:
            return granted
        first = blockers[0]
        return Denied(resource=first.resource, holder=first.holder, blockers=tuple(blockers), cycles=tuple(formed))


def renew(
    database: Database, *, holder: str, token: int, seconds: float = LEASE_SECONDS, now: datetime | None = None
) -> datetime:
    """Let a grant live on; until when is returned. An expired one is lost, even if nobody has taken it yet."""
    with database.writing() as connection:
        moment = enter(connection, now)
        until = moment + timedelta(seconds=seconds)
        changed = connection.execute(
            leases.update()
            .where(leases.c.holder == holder, leases.c.token == token, leases.c.expires_at > moment)
            .values(expires_at=until)
        )
        if not changed.rowcount:
            raise LeaseError(
                f"The lease with token {token} is no longer {holder}'s.", hint="Stop writing, then acquire again."
            )
        return until


def release(
    database: Database, *, holder: str, token: int | None = None, now: datetime | None = None
) -> tuple[str, ...]:
    """Give back one grant, or with no token everything the holder has and waits for. What was freed is returned.

    Releasing what is already lost frees nothing and is no error.
    """
    fault_point("lease.releasing")
    with database.writing() as connection:
        moment = enter(connection, now)
        gone = _sweep(connection, moment)
        mine = leases.c.holder == holder
        if token is None:
            waits.withdraw(connection, waiter=holder)
        else:
            mine &= leases.c.token == token
        freed = _delete(connection, "lock.released", mine)
        _settle(connection, moment, gone + freed)
        fault_point("lease.released")
        return tuple(lease.resource for lease in freed)


def release_dead(database: Database, executor: str, now: datetime | None = None) -> tuple[str, ...]:
    """Give back what the holders of a dead process have and wait for. What was freed is returned."""
    prefix = in_process(executor, "")
    with database.writing() as connection:
        moment = enter(connection, now)
        gone = _sweep(connection, moment)
        connection.execute(wait_rows.delete().where(_begins(wait_rows.c.waiter, prefix)))
        freed = _delete(connection, "lock.released", _begins(leases.c.holder, prefix), reason="holder_died")
        _settle(connection, moment, gone + freed)
        return tuple(lease.resource for lease in freed)


def withdraw(database: Database, *, holder: str, now: datetime | None = None) -> None:
    """Stop waiting, keep what is held."""
    with database.writing() as connection:
        moment = enter(connection, now)
        gone = _sweep(connection, moment)
        waits.withdraw(connection, waiter=holder)
        _settle(connection, moment, gone)


def expire(database: Database, now: datetime | None = None) -> tuple[str, ...]:
    """Free what the dead still hold, forget their waits, wake who can go on. What was freed is returned."""
    with database.writing() as connection:
        moment = enter(connection, now)
        gone = _sweep(connection, moment)
        _settle(connection, moment, gone)
        return tuple(lease.resource for lease in gone)


def check_token(connection: sa.Connection, resource: str, token: int, now: datetime | None = None) -> None:
    """Refuse a write whose lease is gone. Call it first in the transaction of that write.

    Until the transaction ends nobody else can be granted the resource: SQLite has one writer, PostgreSQL keeps the row.
    """
    row = connection.execute(
        sa.select(leases.c.token, leases.c.expires_at)
        .where(leases.c.resource == resource)
        .with_for_update(read=True, key_share=True)
    ).first()
    if row is None or row.token != token or row.expires_at <= (now or time_of(connection)):
        why = "is held by nobody" if row is None else "has expired" if row.token == token else "went to another grant"
        raise LeaseError(
            f"Token {token} is stale: the lease on {resource} {why}.", hint="Stop writing, then acquire again."
        )


def all_leases(connection: sa.Connection, *, holder: str | None = None, now: datetime | None = None) -> list[Lease]:
    """The leases that live now, by resource."""
    question = sa.select(leases).where(leases.c.expires_at > (now or time_of(connection)))
    if holder is not None:
        question = question.where(leases.c.holder == holder)
    return [Lease(**row) for row in connection.execute(question.order_by(leases.c.resource)).mappings()]


def _checked(holder: str, resources: Sequence[str]) -> tuple[str, ...]:
    if isinstance(resources, str) or not resources:
        raise InputError(f"{resources!r} is no list of resources.", hint="Name at least one, in a list.")
    if not holder or len(holder) > 200:
        raise InputError(f"{holder!r} is no name of a holder.", hint="Use 1 to 200 characters.")
    for each in resources:
        if not each or len(each) > 400:
            raise InputError(f"{each[:60]!r} is no name of a resource.", hint="Use 1 to 400 characters.")
    return tuple(sorted(set(resources)))


def _in_the_way(
    connection: sa.Connection, holder: str, wanted: tuple[str, ...], priority: int, now: datetime
) -> list[Blocker]:
    taken = sa.select(leases).where(leases.c.resource.in_(wanted), leases.c.holder != holder)
    held = [
        Blocker(resource=row.resource, holder=row.holder, until=row.expires_at, reason="held")
        for row in connection.execute(taken.order_by(leases.c.resource))
    ]
    if held:
        return held
    kept = waits.ahead(connection, waiter=holder, resources=wanted, priority=priority, now=now)
    grace = timedelta(seconds=waits.KEPT_SECONDS)
    return [
        Blocker(resource=resource, holder=wait.waiter, until=(wait.woken_at or now) + grace, reason="kept")
        for resource, wait in sorted(kept.items())
    ]


def _grant(connection: sa.Connection, holder: str, wanted: tuple[str, ...], seconds: float, now: datetime) -> Granted:
    token = bump(connection, "counters", _TOKENS, "value")
    until = now + timedelta(seconds=seconds)
    # Deleted and written anew, not updated: `check_token` keeps rows from being deleted while somebody writes.
    connection.execute(leases.delete().where(leases.c.resource.in_(wanted)))
    row = {"holder": holder, "token": token, "granted_at": now, "expires_at": until}
    connection.execute(leases.insert(), [{"resource": each, **row} for each in wanted])
    waits.withdraw(connection, waiter=holder)
    return Granted(holder=holder, resources=wanted, token=token, expires_at=until)


def _sweep(connection: sa.Connection, now: datetime) -> list[Ended]:
    """After this, every row that is left is alive."""
    connection.execute(wait_rows.delete().where(wait_rows.c.expires_at <= now))
    return _delete(connection, "lock.expired", leases.c.expires_at <= now)


def _delete(
    connection: sa.Connection,
    why: Literal["lock.released", "lock.expired"],
    which: sa.ColumnElement[bool],
    reason: str = "",
) -> list[Ended]:
    rows = connection.execute(leases.delete().where(which).returning(leases)).mappings().all()
    names = ("resource", "holder", "token", "expires_at")
    ended = [Ended(type=why, reason=reason, **{name: row[name] for name in names}) for row in rows]
    return sorted(ended, key=lambda lease: lease.resource)


def _begins(column: sa.Column[str], prefix: str) -> sa.ColumnElement[bool]:
    """Not by LIKE, which takes capital and small letters for the same on SQLite."""
    return sa.func.substr(column, 1, len(prefix)) == prefix


def _settle(
    connection: sa.Connection, now: datetime, gone: list[Ended], told: Sequence[NewEvent] = ()
) -> list[cycles.Cycle]:
    """What every change is followed by: wake who can go on, note the rings that formed or went, tell it all."""
    woken = waits.wake(connection, now)
    formed, alarms = deadlocks.note(connection, now)
    append(connection, [*lock_events.ended(gone, woken), *told, *alarms])
    return formed
