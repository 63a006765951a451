"""Is everything in the database as it must be? The file, references, the log's numbers, and what hangs in the air."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import sqlalchemy as sa

from touchline.errors import EventError
from touchline.store.checked import Checked, ok, problem, warning
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.health import broken_file, path_of, require_ours, snapshot
from touchline.store.log_tables import dead_letters, events, outbox, subscriptions
from touchline.store.place import engine_file
from touchline.store.tables import leases, metadata, waits

RESTORE = "Restore a backup that `touchline db check` finds sound; keep this file aside."
_SHOWN = 5
"""How many cases of one kind are told."""
_PAGE = 1000


def check_database(database: Database) -> Iterator[Checked]:
    """Every check in turn. A damaged file ends them: nothing read from it could be believed."""
    path = path_of(database)
    if path is not None:
        broken = broken_file(path)
        if broken:
            yield problem("file", f"{path}: {_some(broken)}", fix=RESTORE)
            return
        yield ok("file", f"{path} is whole")
        engine = engine_file(path)
        if engine.is_file():
            broken = broken_file(engine)
            yield (
                problem("engine_file", f"{engine}: {_some(broken)}", fix=RESTORE)
                if broken
                else ok("engine_file", f"{engine} is whole")
            )
    found = require_ours(database)
    if found.state == "newer":
        yield warning(
            "schema",
            f"made by a newer Touchline (revision {found.revision}, known here: {found.newest}); not looked into",
            fix="Upgrade Touchline.",
        )
        return
    if found.state == "older":
        yield warning("schema", f"{len(found.pending)} migrations are pending", fix="touchline db upgrade")
        return
    with snapshot(database) as connection:
        missing = sorted(set(metadata.tables) - set(sa.inspect(connection).get_table_names()))
        if missing:
            yield problem("schema", f"tables are missing: {', '.join(missing)}", fix=RESTORE)
            return
        yield ok("schema", f"revision {found.revision}, {len(metadata.tables)} tables")
        yield _references(connection, database.sqlite)
        if not database.sqlite:
            yield _indexes(connection)
        yield _numbers(connection)
        yield _readable(connection)
        yield _causes(connection)
        yield _cursors(connection)
        yield _letters(connection)
        yield _given_up(connection)
        yield _left_over(connection, now())


def _references(connection: sa.Connection, sqlite: bool) -> Checked:
    if sqlite:
        rows = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        cases = [f"{row[0]} row {row[1]} refers to a missing one of {row[2]}" for row in rows]
    else:
        unproved = sa.text(
            "select conrelid::regclass || '.' || conname from pg_constraint where contype = 'f' and not convalidated"
        )
        cases = [f"{name} is not enforced for old rows" for name in connection.execute(unproved).scalars()]
    if cases:
        return problem("references", f"{len(cases)} broken: {_some(cases)}", fix=RESTORE)
    return ok("references", "every reference leads to a record")


def _indexes(connection: sa.Connection) -> Checked:
    broken = connection.execute(
        sa.text("select indexrelid::regclass::text from pg_index where not indisvalid or not indisready")
    )
    names = list(broken.scalars())
    if names:
        return problem("indexes", f"not usable: {_some(names)}", fix=f"In psql: REINDEX INDEX {names[0]};")
    return ok("indexes", "all usable")


def _numbers(connection: sa.Connection) -> Checked:
    """The log's numbers follow each other; old events may have been pruned at its begin, never in its middle."""
    before = sa.func.lag(events.c.seq).over(order_by=events.c.seq).label("before")
    each = sa.select(events.c.seq, before).subquery()
    gaps = connection.execute(
        sa.select(each.c.before, each.c.seq).where(each.c.seq - each.c.before > 1).order_by(each.c.seq)
    ).all()
    count, first = connection.execute(sa.select(sa.func.count(), sa.func.min(events.c.seq)).select_from(events)).one()
    if first is not None and first < 1:
        return problem("log", f"the first event has the number {first}", fix=RESTORE)
    if gaps:
        told = _some([f"between {row.before} and {row.seq}" for row in gaps])
        return problem("log", f"events are missing {told}", fix=RESTORE)
    return ok("log", f"{count:,} events, numbered without a gap")


def _readable(connection: sa.Connection) -> Checked:
    """Each event can be read by this program: its type is known, its payload is JSON and fits."""
    bad: list[str] = []
    after = 0
    while len(bad) <= _SHOWN:
        try:
            found = read(connection, after, limit=_PAGE)
        except EventError:
            found = []
            for seq in connection.execute(
                sa.select(events.c.seq).where(events.c.seq > after).order_by(events.c.seq).limit(_PAGE)
            ).scalars():
                try:
                    read(connection, seq - 1, upto=seq)
                except EventError as error:
                    bad.append(error.message)
                after = seq
            continue
        if not found:
            break
        after = found[-1].seq
    if bad:
        return problem(
            "events",
            f"cannot be read: {_some(bad)}",
            fix="If a newer Touchline wrote them, upgrade this one. Otherwise: " + RESTORE,
        )
    return ok("events", "every event can be read")


def _causes(connection: sa.Connection) -> Checked:
    """An event is caused by an earlier one; those older than the log's begin were pruned."""
    first = sa.select(sa.func.min(events.c.seq)).scalar_subquery()
    cause = events.alias("cause")
    rows = connection.execute(
        sa.select(events.c.seq, events.c.cause)
        .select_from(events.outerjoin(cause, events.c.cause == cause.c.seq))
        .where(
            events.c.cause.is_not(None),
            sa.or_(events.c.cause >= events.c.seq, sa.and_(cause.c.seq.is_(None), events.c.cause >= first)),
        )
        .order_by(events.c.seq)
        .limit(100)
    ).all()
    if rows:
        told = _some([f"{row.seq} names {row.cause}" for row in rows])
        return problem("causes", f"events name a cause that is not before them: {told}", fix=RESTORE)
    return ok("causes", "every cause is an earlier event")


def _cursors(connection: sa.Connection) -> Checked:
    newest = connection.execute(sa.select(sa.func.max(events.c.seq))).scalar() or 0
    rows = connection.execute(sa.select(subscriptions.c.name, subscriptions.c.cursor)).all()
    ahead = [f"{row.name} at {row.cursor}" for row in rows if row.cursor > newest]
    if ahead:
        return problem(
            "cursors",
            f"readers stand beyond the log's end ({newest}) and would miss what comes: {_some(ahead)}",
            fix="The log was cut, as by an older copy of one table. " + RESTORE,
        )
    return ok("cursors", f"{len(rows)} readers, none beyond the log's end")


def _letters(connection: sa.Connection) -> Checked:
    orphans = connection.execute(
        sa.select(dead_letters.c.subscription, dead_letters.c.seq)
        .select_from(
            dead_letters.outerjoin(events, events.c.seq == dead_letters.c.seq).outerjoin(
                subscriptions, subscriptions.c.name == dead_letters.c.subscription
            )
        )
        .where(sa.or_(events.c.seq.is_(None), subscriptions.c.name.is_(None)))
        .limit(100)
    ).all()
    kept = connection.execute(sa.select(sa.func.count()).select_from(dead_letters)).scalar() or 0
    if orphans:
        told = _some([f"event {row.seq} for {row.subscription}" for row in orphans])
        return warning(
            "dead_letters", f"letters whose event or reader is gone: {told}", fix="They can no longer be delivered."
        )
    if kept:
        newest = (
            connection.execute(sa.select(dead_letters).order_by(dead_letters.c.at.desc()).limit(1)).mappings().one()
        )
        return warning(
            "dead_letters",
            f"{kept:,} events could not be taken by their reader; the newest: event {newest['seq']} by "
            f"{newest['subscription']}: {newest['reason'][:300]}",
            fix=f"See the event: touchline events list --after {newest['seq'] - 1} --limit 1",
        )
    return ok("dead_letters", "none")


def _given_up(connection: sa.Connection) -> Checked:
    """What should have reached somebody, and did not."""
    query = sa.select(outbox.c.key, outbox.c.last_error).where(outbox.c.status == "failed").order_by(outbox.c.id)
    rows = connection.execute(query).all()
    if rows:
        told = _some([f"{row.key} ({row.last_error[:200]})" for row in rows])
        return warning("outbox", f"{len(rows):,} given up: {told}", fix="touchline db resend")
    return ok("outbox", "nothing was given up")


def _left_over(connection: sa.Connection, at: datetime) -> Checked:
    """What nobody will come back for: leases past their time, waits for something that is free."""
    expired = connection.execute(sa.select(leases.c.resource).where(leases.c.expires_at < at)).scalars().all()
    forgotten = (
        connection.execute(
            sa.select(waits.c.waiter)
            .select_from(waits.outerjoin(leases, leases.c.resource == waits.c.resource))
            .where(leases.c.resource.is_(None), waits.c.woken_at.is_(None))
        )
        .scalars()
        .all()
    )
    cases = [f"lease on {name} has expired" for name in expired]
    cases += [f"{name} waits for something that is free" for name in forgotten]
    if cases:
        return warning("left_over", _some(cases), fix="A running worker clears them: touchline worker")
    return ok("left_over", "no expired lease, no forgotten wait")


def _some(cases: list[str]) -> str:
    more = len(cases) - _SHOWN
    return "; ".join(cases[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
