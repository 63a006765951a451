"""How does a database stand, and is it sound? Looks only; what to do about it is said, not done."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from alembic.script import ScriptDirectory

from touchline.errors import SchemaError
from touchline.store.database import Database
from touchline.store.log_tables import dead_letters, events, meta, outbox, subscriptions
from touchline.store.migrate import FOLDER, Schema, schema_of
from touchline.store.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a database stands; counts are None while it has no tables of ours."""

    kind: Literal["sqlite", "postgresql"]
    version: str
    """The version of SQLite, or of the PostgreSQL server."""
    schema: Schema
    purpose: str | None
    """`user` or `test`, stamped when it was made."""
    size: int
    """Bytes; of a SQLite database with its journal."""
    free: int | None
    """Bytes free on the disk of a SQLite file; a server's disk cannot be seen from here."""
    journal_mode: str | None
    """SQLite's journal mode; `wal` as soon as Touchline writes."""
    events: int | None
    oldest: datetime | None
    newest: datetime | None
    newest_seq: int | None
    readers: int | None
    """Subscriptions to the event log."""
    dead_letters: int | None
    """Events that a reader could not take."""
    to_deliver: int | None
    """Messages in the outbox that are still to be sent."""
    given_up: int | None
    """Messages in the outbox that could not be sent, however often it was tried."""


def standing_of(database: Database) -> Standing:
    """Where the database stands, without changing it."""
    schema = schema_of(database)
    ours = schema.state in ("current", "older", "newer")
    with snapshot(database) as connection:
        path = path_of(database)
        known = {name: sa.inspect(connection).has_table(name) for name in ("events", "meta", "outbox")}
        ours = ours and all(known.values())
        count, oldest, newest, newest_seq = _log(connection) if ours else (None, None, None, None)
        return Standing(
            kind="sqlite" if database.sqlite else "postgresql",
            version=_version(connection, database.sqlite),
            schema=schema,
            purpose=_scalar(connection, sa.select(meta.c.value).where(meta.c.key == "purpose")) if ours else None,
            size=size_of(path) if path else int(_scalar(connection, sa.text(_SIZE)) or 0),
            free=shutil.disk_usage(path.parent).free if path else None,
            journal_mode=connection.exec_driver_sql("PRAGMA journal_mode").scalar() if path else None,
            events=count,
            oldest=oldest,
            newest=newest,
            newest_seq=newest_seq,
            readers=_count(connection, subscriptions) if ours else None,
            dead_letters=_count(connection, dead_letters) if ours else None,
            to_deliver=_count(connection, outbox, outbox.c.status.in_(("pending", "sending"))) if ours else None,
            given_up=_count(connection, outbox, outbox.c.status == "failed") if ours else None,
        )


def require_ours(database: Database) -> Schema:
    """The schema of a database that is Touchline's; an error when it is empty or somebody else's."""
    found = schema_of(database)
    where = Place(url=database.url, origin="given")
    if found.state == "foreign":
        raise SchemaError(f"{where} holds tables that are not Touchline's.", hint="Name another one with --database.")
    if found.state == "empty":
        raise SchemaError(f"{where} is empty.", hint="Make the tables with: touchline db upgrade")
    return found


def schema_of_nothing() -> Schema:
    """Where a database stands that is not there yet."""
    script = ScriptDirectory(str(FOLDER))
    pending = tuple(each.revision for each in script.walk_revisions())[::-1]
    return Schema(state="empty", revision=None, newest=script.get_current_head() or "", pending=pending)


def migration_titles(revisions: Iterable[str]) -> dict[str, str]:
    """What each migration does, in its own words."""
    script = ScriptDirectory(str(FOLDER))
    return {each: script.get_revision(each).doc for each in revisions}


@contextmanager
def snapshot(database: Database) -> Iterator[sa.Connection]:
    """One consistent view for several questions."""
    with database.reading() as connection:
        if database.sqlite:
            connection.exec_driver_sql("BEGIN")
        yield connection


def path_of(database: Database) -> Path | None:
    """The file of a SQLite database."""
    return Path(database.url.removeprefix("sqlite:///")) if database.sqlite else None


def size_of(path: Path) -> int:
    """Bytes of a SQLite database and of its journal."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def broken_file(path: Path) -> list[str]:
    """What SQLite finds wrong in a file; empty when it is whole."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as connection:
            connection.execute("PRAGMA query_only=ON")
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


_SIZE = "select pg_database_size(current_database())"


def _log(connection: sa.Connection) -> tuple[int, datetime | None, datetime | None, int | None]:
    count, first, last = connection.execute(
        sa.select(sa.func.count(), sa.func.min(events.c.seq), sa.func.max(events.c.seq)).select_from(events)
    ).one()
    ends = connection.execute(sa.select(events.c.seq, events.c.at).where(events.c.seq.in_([first, last])))
    at = {row.seq: row.at for row in ends}
    return count, at.get(first), at.get(last), last


def _version(connection: sa.Connection, sqlite: bool) -> str:
    if sqlite:
        return sqlite3.sqlite_version
    return str(_scalar(connection, sa.text("show server_version")) or "").split(" ")[0]


def _count(connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table).where(*where)).scalar() or 0)


def _scalar(connection: sa.Connection, question: sa.Executable) -> str | None:
    found = connection.execute(question).scalar()
    return None if found is None else str(found)
