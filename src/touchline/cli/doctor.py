"""`touchline doctor`: is this machine ready, and what puts it right?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from touchline.cli.exits import Exit
from touchline.cli.place import DatabaseOption, JsonOption, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from touchline.store.checked import Checked


def doctor(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """Check this machine: versions, packages, database, file system, disk, clock, programs. Each with a fix.

    Makes and changes nothing; starts nothing but `--version` of the programs it finds.

    \b
    Exit codes:
      0  no problem (warnings may be there)
      1  there is a problem; the fix stands with it
    """
    from touchline import __version__
    from touchline.cli.sheet import as_dicts, print_checks, print_json

    checks = list(_checks(database))
    fine = all(one.result != "problem" for one in checks)
    if as_json:
        print_json("touchline.doctor/1", {"version": __version__, "ok": fine, "checks": as_dicts(checks)})
    else:
        print_checks(checks)
    if not fine:
        raise typer.Exit(Exit.FOUND)


def _checks(given: str) -> Iterator[Checked]:
    from touchline.cli.checks import check_packages, check_programs
    from touchline.cli.database_checks import check_place
    from touchline.errors import StoreError
    from touchline.store.checked import problem

    yield from check_packages()
    try:
        place = place_of(given)
    except StoreError as error:
        yield problem("database", error.message, fix=error.hint)
    else:
        yield from check_place(place)
    yield from check_programs()
