"""Is the database's schema the one this program knows, and how does it get there?

Migrations run under a lock that other processes wait for, so many may start at once on an empty database. A database
made by a newer Touchline is refused before anything is touched.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql, sqlite

from touchline.errors import SchemaError
from touchline.store.database import Database, Purpose
from touchline.store.locks import process_lock
from touchline.store.log_tables import meta
from touchline.store.place import Place

FOLDER = Path(__file__).with_name("migrations")
_LOCK = 7_461_001
"""PostgreSQL's advisory lock for migrations."""
_ONE_AT_A_TIME = threading.Lock()
"""Alembic keeps its context in one place per process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Where a database stands."""

    state: Literal["empty", "current", "older", "newer", "foreign"]
    revision: str | None
    newest: str
    """The revision this program knows as the newest."""
    pending: tuple[str, ...] = ()
    """Migrations to be applied, in order."""


def open_database(url: str, *, purpose: Purpose = "user", upgrade: bool = True) -> Database:
    """Open a database and bring its schema up to date; an older one stays as it is when `upgrade` is false.

    `purpose` is stamped into a new database and must agree with an old one's: a test cannot write into a person's
    database, nor the other way round.
    """
    database = Database(url)
    try:
        found = schema_of(database)
        refuse(found, database)
        if found.state in ("empty", "older"):
            if not upgrade and found.state == "older":
                raise SchemaError(
                    f"The database is at revision {found.revision}, this program needs {found.newest}.",
                    hint="Run: touchline db upgrade",
                )
            upgrade_schema(database)
        _stamped(database, purpose)
    except BaseException:
        database.close()
        raise
    return database


def schema_of(database: Database) -> Schema:
    """Where the database stands, without changing it."""
    script = ScriptDirectory.from_config(_config(database))
    newest = script.get_current_head() or ""
    with database.reading() as connection:
        # Names first: another process may migrate between the two looks, and then the revision is there.
        names = set(sa.inspect(connection).get_table_names())
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision is None:
        ours = names <= {"alembic_version"}
        return Schema(state="empty" if ours else "foreign", revision=None, newest=newest, pending=_after(script, None))
    known = {each.revision for each in script.walk_revisions()}
    if revision not in known:
        return Schema(state="newer", revision=revision, newest=newest)
    pending = _after(script, revision)
    return Schema(state="older" if pending else "current", revision=revision, newest=newest, pending=pending)


def upgrade_schema(database: Database) -> Schema:
    """Apply what is pending; whoever comes second finds it done."""
    with _ONE_AT_A_TIME, _alone(database):
        found = schema_of(database)
        refuse(found, database)
        if found.state != "current":
            config = _config(database)
            with database.writing() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
    return schema_of(database)


def refuse(found: Schema, database: Database) -> None:
    """Raise when the database is not for this program to touch."""
    where = Place(url=database.url, origin="given")
    if found.state == "newer":
        raise SchemaError(
            f"{where} was made by a newer Touchline (revision {found.revision}; this one knows {found.newest}).",
            hint="Upgrade Touchline, or use another database with --database.",
        )
    if found.state == "foreign":
        raise SchemaError(
            f"{where} holds tables that are not Touchline's.", hint="Use an empty database, or another one."
        )


def _stamped(database: Database, purpose: Purpose) -> None:
    asked = sa.select(meta.c.value).where(meta.c.key == "purpose")
    with database.reading() as connection:
        said = connection.execute(asked).scalar()
    if said is None:
        # Two may open a new database at once: whoever comes second leaves the first one's stamp.
        insert = sqlite.insert if database.sqlite else postgresql.insert
        stamp = insert(meta).values(key="purpose", value=purpose).on_conflict_do_nothing()
        with database.writing() as connection:
            connection.execute(stamp)
        with database.reading() as connection:
            said = connection.execute(asked).scalar()
    if said != purpose:
        raise SchemaError(
            f"This database was made for the purpose {said!r} and was opened for {purpose!r}.",
            hint="Tests use databases of their own.",
        )


@contextmanager
def _alone(database: Database) -> Iterator[None]:
    if database.sqlite:
        with process_lock(Path(database.url.removeprefix("sqlite:///")).with_suffix(".lock")):
            yield
        return
    with database.explaining(), database.engine.connect() as connection:
        # Outside of a transaction: one that does nothing while another connection migrates would be ended.
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.text("select pg_advisory_lock(:n)"), {"n": _LOCK})
        try:
            yield
        finally:
            connection.execute(sa.text("select pg_advisory_unlock(:n)"), {"n": _LOCK})


def _config(database: Database) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["url"] = database.url
    return config


def _after(script: ScriptDirectory, revision: str | None) -> tuple[str, ...]:
    pending: list[str] = []
    for each in script.walk_revisions():
        if each.revision == revision:
            break
        pending.append(each.revision)
    return tuple(reversed(pending))
