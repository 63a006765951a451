"""How does a database give back the space of what was deleted?"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from touchline.errors import StoreError
from touchline.store.database import Database, explained
from touchline.store.health import size_of
from touchline.store.place import engine_file

WAIT_SECONDS = 5
"""How long others may keep the file busy before it is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuumed:
    """One file, or a whole PostgreSQL database, before and after."""

    what: str
    before: int
    after: int


def vacuum(database: Database) -> tuple[Vacuumed, ...]:
    """Give back what can be given back. SQLite needs the file for itself while it is rewritten."""
    if not database.sqlite:
        return (_vacuumed_server(database),)
    path = Path(database.url.removeprefix("sqlite:///"))
    engine = engine_file(path)
    return tuple(_vacuumed_file(each) for each in (path, engine) if each.is_file())


def _vacuumed_file(path: Path) -> Vacuumed:
    before = size_of(path)
    free = shutil.disk_usage(path.parent).free
    if free < 2 * before:
        # The rewritten copy goes through the journal: in the worst case both are as large as the file.
        raise StoreError(
            f"{path} is {before:,} bytes large and its disk has {free:,} free; to rewrite it takes twice its size.",
            hint="Free some space, then run this again.",
        )
    try:
        with closing(sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error) and "busy" not in str(error):
            raise StoreError(
                f"{path} could not be rewritten ({error}); it is as it was.", hint="touchline db check says more."
            ) from error
        raise StoreError(
            f"{path} was in use for {WAIT_SECONDS} s; nothing was changed.",
            hint="Try again when no worker is busy with it.",
        ) from error
    return Vacuumed(what=str(path), before=before, after=size_of(path))


def _vacuumed_server(database: Database) -> Vacuumed:
    question = sa.text("select pg_database_size(current_database()), current_database()")
    try:
        with database.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            before, name = connection.execute(question).one()
            connection.execute(sa.text("vacuum (analyze)"))
            after, _ = connection.execute(question).one()
    except exc.OperationalError as error:
        raise explained(error, database.url) from error
    return Vacuumed(what=str(name), before=int(before), after=int(after))
