"""Can the database be used here? The checks of `touchline doctor` about it; they make none and change nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from touchline.audit.figures import size
from touchline.errors import StoreError
from touchline.own_package import how_to_install
from touchline.store.checked import Checked, ok, problem, warning
from touchline.store.filesystem import mount_of
from touchline.store.place import Place

if TYPE_CHECKING:
    from touchline.store.database import Database
    from touchline.store.health import Standing

SCARCE, TOO_SCARCE = 1 << 30, 100 << 20
"""Free bytes below which the disk is a warning, and a problem."""
LEAST_POSTGRES = 13
CLOCK_SLACK = timedelta(seconds=5)
"""How far two clocks may differ before leases and time-outs become unreliable."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows an earlier time than this program's own."""


def check_place(place: Place, *, mounts: str | None = None, now: datetime | None = None) -> Iterator[Checked]:
    """File system, rights and disk of a SQLite file; then the database itself and the clock."""
    path, at = place.path, now or datetime.now(UTC)
    network = False
    if path is not None:
        kind = check_filesystem(path, mounts)
        network = kind.result == "problem"
        yield kind
        yield check_rights(path)
        yield check_disk(path, shutil.disk_usage(_nearest(path)).free)
    if at < EPOCH:
        yield problem("clock", f"it is set to {at:%Y-%m-%d %H:%M}Z", fix="Set the clock, best by NTP.")
        return
    if network:
        # Opening it there would be refused anyway; a look could already do harm.
        yield ok("clock", f"{at:%Y-%m-%d %H:%M}Z")
        return
    yield from _database(place, at)


def check_filesystem(path: Path, mounts: str | None = None) -> Checked:
    mount = mount_of(path, mounts)
    if mount is None:
        return warning(
            "filesystem",
            "its kind is not known here",
            fix=f"Make sure that {path} is on a local disk, not on NFS or SMB.",
        )
    if mount.network:
        return problem(
            "filesystem",
            f"{path} lies on a network file system ({mount.kind} at {mount.point}), where SQLite loses data",
            fix="Name a file on a local disk with --database, or use PostgreSQL.",
        )
    return ok("filesystem", f"{mount.kind} at {mount.point}")


def check_disk(path: Path, free: int) -> Checked:
    words = f"{size(free)} free at {_nearest(path)}"
    if free < TOO_SCARCE:
        return problem("disk", words, fix=f"Free some space: below {size(TOO_SCARCE)} writing may fail at any time.")
    if free < SCARCE:
        return warning("disk", words, fix="Free some space: an agent's build alone may need more.")
    return ok("disk", words)


def check_rights(path: Path) -> Checked:
    nearest = _nearest(path)
    if not os.access(nearest, os.W_OK | os.X_OK):
        return problem(
            "rights", f"{nearest} may not be written", fix="Give this user the right, or use another place: --database"
        )
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if os.path.exists(file) and not os.access(file, os.R_OK | os.W_OK):
            return problem("rights", f"{file} may not be read and written", fix=f"As its owner: chmod u+rw {file}")
    return ok("rights", f"{nearest} may be written")


def check_server(version: str) -> Checked:
    number = re.match(r"\d+", version)
    if number is not None and int(number[0]) >= LEAST_POSTGRES:
        return ok("postgresql", version)
    return problem("postgresql", f"{version}, needed is {LEAST_POSTGRES}", fix="Upgrade the server.")


def check_clock(at: datetime, newest: datetime | None, server: datetime | None) -> Checked:
    """This machine's clock against the server's and against the newest event."""
    if server is not None and abs(server - at) > CLOCK_SLACK:
        return problem(
            "clock",
            f"{at:%Y-%m-%d %H:%M:%S}Z here, {server:%Y-%m-%d %H:%M:%S}Z at the database",
            fix="Set both by NTP: leases and time-outs compare times of several machines.",
        )
    if newest is not None and newest - at > CLOCK_SLACK:
        return warning(
            "clock",
            f"{at:%Y-%m-%d %H:%M:%S}Z, but the newest event is of {newest:%Y-%m-%d %H:%M:%S}Z",
            fix="Check the clock of this machine and of those that write to the database.",
        )
    return ok("clock", f"{at:%Y-%m-%d %H:%M}Z")


def _database(place: Place, at: datetime) -> Iterator[Checked]:
    clock = check_clock(at, None, None)
    if place.path is not None and not os.path.exists(place.path):
        if place.origin == "user":
            yield ok("database", f"{place} is not there yet; the first run makes it")
        else:
            yield warning("database", f"{place} is not there yet", fix="Make it with: touchline db upgrade")
        yield clock
        return
    try:
        from touchline.store.database import Database
        from touchline.store.health import standing_of

        with Database(place.url, only_look=True) as database:
            found = standing_of(database)
            server = None if found.kind == "sqlite" else _server_time(database)
            at = datetime.now(UTC)
    except ModuleNotFoundError as error:
        yield warning("database", f"{place} was not looked at: no {error.name}", fix=how_to_install())
        yield clock
        return
    except StoreError as error:
        yield problem("database", error.message, fix=error.hint)
        yield clock
        return
    yield _schema(place, found)
    if found.kind == "postgresql":
        yield check_server(found.version)
    yield check_clock(at, found.newest, server)


def _schema(place: Place, found: Standing) -> Checked:
    match found.schema.state:
        case "current":
            return ok("database", f"{place}, revision {found.schema.revision}, {found.events:,} events")
        case "older" | "empty":
            pending = ", ".join(found.schema.pending)
            return warning("database", f"{place}, pending migrations: {pending}", fix="touchline db upgrade")
        case "newer":
            words = f"{place} is of a newer Touchline (revision {found.schema.revision}, known: {found.schema.newest})"
            return problem("database", words, fix="Upgrade Touchline.")
        case "foreign":
            return problem("database", f"{place} holds tables that are not Touchline's", fix="Use another: --database")


def _server_time(database: Database) -> datetime:
    import sqlalchemy as sa

    with database.reading() as connection:
        found: datetime = connection.execute(sa.text("select clock_timestamp()")).scalar_one()
    return found.astimezone(UTC)


def _nearest(path: Path) -> Path:
    """The folder of the file, or the nearest one above that is there."""
    return next(place for place in path.absolute().parents if os.path.isdir(place))
