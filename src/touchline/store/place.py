"""Where is the database? Explicit address, else the project's own file, else the platform's data folder.

Only doors call this. A process that a test started has no default place at all: test data cannot get into a
person's database because nothing would find the way there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from touchline.errors import DatabaseUnreachable

VARIABLE = "TOUCHLINE_DATABASE_URL"
Origin = Literal["given", "environment", "settings", "project", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database's address, and why it is this one."""

    url: str
    origin: Origin

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL."""
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite:///") else None

    @property
    def engine_url(self) -> str:
        """Where the engine keeps its own state: a file beside ours, or the same PostgreSQL."""
        path = self.path
        return self.url if path is None else f"sqlite:///{engine_file(path)}"

    def __str__(self) -> str:
        """The address as people may see it: without a password."""
        if self.path is not None:
            return str(self.path)
        parts = urlsplit(self.url)
        # Also without what follows the question mark: a password may stand there too.
        server = parts.netloc.rpartition("@")[2]
        user = f"{parts.username}@" if parts.username else ""
        return f"{parts.scheme.split('+')[0]}://{user}{server}{parts.path}"


def engine_file(path: Path) -> Path:
    """The engine's file beside ours; each database of a folder has its own: `engine.db` for `app.db`, else by name."""
    return path.with_name("engine.db" if path.name == "app.db" else f"{path.stem}.engine{path.suffix}")


def find_place(*, given: str | None, env: Mapping[str, str], folder: Path, home: Path) -> Place:
    """The database to use. A project's own is found again, once somebody made it; a folder of lessons is none."""
    if given:
        return Place(url=normalised(given), origin="given")
    if env.get(VARIABLE):
        return Place(url=normalised(env[VARIABLE]), origin="environment")
    if "PYTEST_CURRENT_TEST" in env:
        raise DatabaseUnreachable(
            "A test has no default database.", hint=f"Give the address: --database or {VARIABLE}."
        )
    for place in (folder, *folder.parents):
        if (place / ".touchline" / "app.db").is_file():
            return Place(url=f"sqlite:///{place / '.touchline' / 'app.db'}", origin="project")
    return Place(url=f"sqlite:///{data_folder(env, home) / 'app.db'}", origin="user")


def data_folder(env: Mapping[str, str], home: Path) -> Path:
    """The platform's folder for a program's data."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "touchline"
    given = Path(env.get("XDG_DATA_HOME", ""))
    # The XDG rules: a relative path is to be ignored.
    return (given if given.is_absolute() else home / ".local" / "share") / "touchline"


def normalised(address: str) -> str:
    """An address in SQLAlchemy's form: a plain path is a SQLite file, `postgres://` is PostgreSQL by psycopg."""
    scheme, found, rest = address.partition("://")
    if not found:
        return _file(address)
    if scheme == "sqlite":
        return _file(rest.removeprefix("/"))
    if scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        return _server(rest)
    raise DatabaseUnreachable(
        f"Databases of kind {scheme!r} are not known ({scheme}://…).",
        hint="Use a file's path, or postgresql://user@host/name.",
    )


def _file(path: str) -> str:
    if path in ("", ":memory:"):
        raise DatabaseUnreachable(
            f"{path!r} names no file; what is remembered must outlive the process.", hint="Name a file's path."
        )
    try:
        return f"sqlite:///{Path(path).expanduser().absolute()}"
    except RuntimeError as error:
        raise DatabaseUnreachable(f"The home folder in {path} is not known.", hint="Write the path in full.") from error


def _server(rest: str) -> str:
    url = f"postgresql+psycopg://{rest}"
    try:
        parts = urlsplit(url)
        # An unescaped character ends a password too early: the rest would be taken, and shown, as something else.
        readable = rest.count("@") == parts.netloc.count("@") <= 1 and parts.port != 0
    except ValueError:
        readable = False
    if not readable:
        raise DatabaseUnreachable(
            "The address of the PostgreSQL database cannot be read.",
            hint="Write postgresql://user:password@host:port/name; in a password, / ? # @ : are %2F %3F %23 %40 %3A.",
        )
    return url
