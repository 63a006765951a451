"""`touchline db`: the database itself. Where it is, how it stands, and how it is kept well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from touchline.cli.place import DatabaseOption, JsonOption, place_of

db = typer.Typer(
    help="The database: where it is and how it stands, upgrade, backup, check, vacuum, resend.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Start with: touchline db status        Make it: touchline db upgrade",
)


@db.command()
def status(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """Where the database is and how it stands. Makes and changes nothing.

    \b
    Exit codes:
      0  said, also when there is no database yet
      2  it cannot be reached or read
    """
    from touchline.cli import db_actions

    db_actions.show_status(place_of(database), as_json=as_json)


@db.command()
def upgrade(
    database: DatabaseOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be applied, and leave it at that.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the tables to this version's state; makes the database when there is none.

    What is in it stays. Several may do this at once: one works, the others find it done.

    \b
    Exit codes:
      0  it is up to date
      2  it cannot be reached, is newer than this program, or is not Touchline's
    """
    from touchline.cli import db_actions

    db_actions.upgrade(place_of(database), dry_run=dry_run, as_json=as_json)


@db.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy is written.")],
    database: DatabaseOption = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE when it is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a SQLite database while it is in use, and verify the copy.

    The engine's own file is copied beside it: monday.db and monday.engine.db. For PostgreSQL, the pg_dump command is
    said instead.

    \b
    Exit codes:
      0  the copy is there and sound
      2  nothing was copied; the message says why
    """
    from touchline.cli import db_actions

    db_actions.back_up(place_of(database), file, force=force, as_json=as_json)


@db.command()
def check(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """Is the database sound? Looks at the file, at references, at the log's numbers, and for what was left over.

    \b
    Exit codes:
      0  no problem (warnings may be there)
      1  something is wrong; it is said what
      2  it cannot be reached or is not Touchline's
    """
    from touchline.cli import db_actions

    db_actions.check(place_of(database), as_json=as_json)


@db.command()
def vacuum(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """Give back the space of what was deleted. SQLite: rewrites the files; PostgreSQL: VACUUM ANALYZE.

    \b
    Exit codes:
      0  done
      2  it is in use, the disk is too full, or it cannot be reached
    """
    from touchline.cli import db_actions

    db_actions.vacuum(place_of(database), as_json=as_json)


@db.command()
def resend(
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="Only this one, as db check names it.")] = "",
    database: DatabaseOption = "",
    as_json: JsonOption = False,
) -> None:
    """Send once more what was given up: results and messages that could not be delivered, however often it was tried.

    \b
    Exit codes:
      0  all of them are sent, or there was none
      1  some failed again; they are tried again later, as at first
      2  there is no such delivery, or the database cannot be reached
    """
    from touchline.cli import db_actions

    db_actions.resend(place_of(database), key, as_json=as_json)
