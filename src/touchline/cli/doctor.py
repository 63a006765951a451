"""`touchline doctor`: is this machine ready, and what puts it right?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from touchline.cli.exits import Exit
from touchline.cli.place import DatabaseOption, JsonOption, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from touchline.store.checked import Checked


def doctor(database: DatabaseOption = "", as_json: JsonOption = False) -> None:
    """Check this machine: packages, settings, database, disk, clock, programs, agents, sandbox, leftovers.

    Each check has its fix. Makes and changes nothing; starts nothing but `--version` of the programs it finds, and the
    sandbox around an empty command.

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
    from touchline.cli.agent_checks import check_plugins, check_sandbox, with_known_faults
    from touchline.cli.checks import check_packages, check_programs
    from touchline.cli.settings_checks import check_hooks, check_settings

    env, folder, home = os.environ, Path.cwd(), Path.home()
    yield from check_packages()
    yield from check_settings(env, folder, home)
    yield from _place_checks(given)
    for one in check_programs():
        yield with_known_faults(one)
    yield from check_plugins()
    yield check_sandbox(env)
    yield check_hooks(env, folder)


def _place_checks(given: str) -> Iterator[Checked]:
    from touchline.cli.database_checks import check_place
    from touchline.cli.session_checks import check_leftovers, check_sessions
    from touchline.errors import SettingsError, StoreError
    from touchline.store.checked import problem, warning

    try:
        place = place_of(given)
    except StoreError as error:
        yield problem("database", error.message, fix=error.hint)
        return
    except SettingsError:
        # The check of that file, or of the variables, says what is wrong.
        yield warning("database", "not looked at: a setting is wrong", fix="Mend it, or name the database: --database")
        return
    yield from check_place(place)
    yield check_leftovers(place, os.environ, Path.home())
    yield from check_sessions(place)
