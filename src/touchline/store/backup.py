"""How is a database copied while it is in use? SQLite by its online backup; for PostgreSQL its own tool is named.

The engine's file is copied before ours. Restored together, the engine may then repeat a step that ours already knows,
which every step allows; the other way round it would believe in work that is not there.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from touchline.errors import InputError, StoreError
from touchline.store.database import BUSY_SECONDS, make_private
from touchline.store.place import engine_file

ENGINE_SUFFIX = ".engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One file that was written."""

    source: Path
    path: Path
    size: int


def engine_copy(target: Path) -> Path:
    """The name of the engine's copy beside the copy of ours: `monday.db` and `monday.engine.db`."""
    return target.with_name(f"{target.stem}{ENGINE_SUFFIX}{target.suffix}")


def back_up(source: Path, target: Path, *, overwrite: bool = False) -> tuple[Copy, ...]:
    """Copy a SQLite database, and the engine's where there is one; consistent while others write."""
    pairs = [(source, target)]
    if engine_file(source).is_file() and source != engine_file(source):
        pairs.insert(0, (engine_file(source), engine_copy(target)))
    sources = {place.resolve() for place, _ in pairs}
    for _, copy in pairs:
        if copy.resolve() in sources:
            raise InputError(f"{copy} is the database itself.", hint="Name another file.")
        if copy.is_dir():
            raise InputError(f"{copy} is a folder.", hint="Name a file in it.")
        if copy.exists() and not overwrite:
            raise InputError(f"{copy} is already there.", hint="Name another file, or overwrite it with --force.")
        if not copy.parent.is_dir():
            raise InputError(f"The folder {copy.parent} is not there.", hint="Make it, or name another place.")
    return tuple(_copied(place, copy) for place, copy in pairs)


def dump_command(url: str, target: Path) -> str:
    """What copies a PostgreSQL database: the engine's tables are in it too."""
    return f"pg_dump --format=custom --file={shlex.quote(str(target))} {_address(url)}"


def restore_command(url: str, target: Path) -> str:
    """What brings such a copy back."""
    return f"pg_restore --clean --if-exists --dbname={_address(url)} {shlex.quote(str(target))}"


def _address(url: str) -> str:
    """The address for a shell: without the password, which would stand in the list of processes."""
    bare = sa.make_url(url)._replace(drivername="postgresql", password=None)
    bare = bare.difference_update_query(["password", "sslpassword", "passfile"])
    return shlex.quote(bare.render_as_string())


def _copied(source: Path, target: Path) -> Copy:
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        _write(source, partial)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(target)
        _sync_folder(target.parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{source} could not be copied to {target} ({error}); nothing was left there.",
            hint="Check the space and the rights of that place, and the database with: touchline db check",
        ) from error
    finally:
        for leftover in (partial, Path(f"{partial}-journal"), Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            with suppress(OSError):
                leftover.unlink()
    return Copy(source=source, path=target, size=target.stat().st_size)


def _write(source: Path, partial: Path) -> None:
    address = f"{source.absolute().as_uri()}?mode=rw"
    make_private(partial)
    with (
        closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as origin,
        closing(sqlite3.connect(partial)) as copy,
    ):
        # All pages in one step: in small steps, each writer in between would make it begin again.
        origin.backup(copy)
        # One file that needs no others beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
        found = [row[0] for row in copy.execute("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise sqlite3.DatabaseError(f"the copy is damaged: {'; '.join(found)}")


def _sync_folder(folder: Path) -> None:
    """A new name survives a power cut once its folder is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
