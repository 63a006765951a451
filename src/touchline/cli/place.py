"""Which database is meant? The options that every command about a database shares."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from touchline.errors import TouchlineError
    from touchline.store.database import Database, Purpose
    from touchline.store.place import Origin, Place

DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="ADDRESS",
        help="A SQLite file's path, or postgresql://user@host/name. Default: TOUCHLINE_DATABASE_URL, else the "
        "setting database.url, else the project's .touchline/app.db, else the user's data folder.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print as JSON.")]
_named = ""
WHY: dict[Origin, str] = {
    "given": "named by --database",
    "environment": "named by TOUCHLINE_DATABASE_URL",
    "settings": "named by the setting database.url",
    "project": "the project's .touchline/app.db",
    "user": "the user's data folder",
}


def place_of(given: str) -> Place:
    """The database that is meant."""
    place = _found(given)
    meant(place)
    return place


def meant(place: Place) -> None:
    """Commands that are shown from now on are about this database."""
    global _named
    # What a command line named has to be named again; everything else is found again.
    _named = f" --database {shlex.quote(str(place))}" if place.origin == "given" else ""


def command(words: str) -> str:
    """A command for a person to type next, on the same database."""
    return f"touchline {words}{_named}"


def hint_of(error: TouchlineError) -> str:
    """What to do about an error; a command in it is on the same database."""
    return f"{error.hint}{_named}" if error.then else error.hint


def _found(given: str) -> Place:
    from touchline.store.place import VARIABLE, Place, find_place, normalised

    if not given and not os.environ.get(VARIABLE) and (named := _named_in_settings()):
        return Place(url=normalised(named), origin="settings")
    return find_place(given=given or None, env=os.environ, folder=Path.cwd(), home=Path.home())


def _named_in_settings() -> str:
    """The database that a settings file names; empty when none does. A test asks no person's files."""
    from touchline.settings.loading import find_settings

    if "PYTEST_CURRENT_TEST" in os.environ:
        return ""
    found = find_settings({}, os.environ, Path.cwd(), Path.home())
    if "database.url" in found.ignored:
        from touchline.cli.terminal import say

        say(found.notice)
    url, origin = found.settings.database.url, found.origins.get("database.url")
    if not url or origin is None or "://" in url:
        return url
    # A path in a file is seen from the file, wherever the command is started.
    return str(Path(origin.where).parent / Path(url).expanduser())


def purpose() -> Purpose:
    """A command that a test started is a test: a person's database refuses it."""
    return "test" if "PYTEST_CURRENT_TEST" in os.environ else "user"


def looked_at(place: Place) -> Database:
    """The database, opened to look; it must be there."""
    from touchline.store.database import Database

    return Database(place.url, only_look=True)


def opened(place: Place) -> Database:
    """The database of somebody who will write: there, ours, up to date, and made for this purpose."""
    from touchline.store.database import Database
    from touchline.store.health import require_ours
    from touchline.store.migrate import open_database

    with Database(place.url, only_look=True) as database:
        require_ours(database)
    return open_database(place.url, purpose=purpose(), upgrade=False)
