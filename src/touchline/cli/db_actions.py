"""What do the commands of `touchline db` do, and how do they tell it?"""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from touchline.audit.figures import UNKNOWN, count, size
from touchline.cli.exits import Exit
from touchline.cli.place import WHY, looked_at, opened, purpose
from touchline.cli.sheet import as_dicts, print_checks, print_facts, print_json
from touchline.cli.terminal import say
from touchline.errors import InputError
from touchline.store.backup import back_up as copy_files
from touchline.store.backup import dump_command, restore_command
from touchline.store.health import migration_titles, require_ours, schema_of_nothing, standing_of
from touchline.store.migrate import Schema, open_database, refuse, schema_of
from touchline.store.soundness import check_database
from touchline.store.vacuum import vacuum as give_back

if TYPE_CHECKING:
    from touchline.store.health import Standing
    from touchline.store.place import Place


def show_status(place: Place, *, as_json: bool) -> None:
    found = _standing(place)
    if as_json:
        print_json("touchline.database/1", _status_json(place, found))
        return
    print_facts(_status_facts(place, found))
    if found is None or found.schema.state in ("empty", "older"):
        say("Next: touchline db upgrade" + (", with the same --database" if place.origin == "given" else ""))


def upgrade(place: Place, *, dry_run: bool, as_json: bool) -> None:
    before = _schema_before(place)
    if not dry_run:
        open_database(place.url, purpose=purpose()).close()
    if as_json:
        applied = "would_apply" if dry_run else "applied"
        value = {"database": str(place), "from": before.revision, "to": before.newest, applied: list(before.pending)}
        print_json("touchline.upgrade/1", value)
        return
    if not before.pending:
        typer.echo(f"{place} is up to date (revision {before.newest}).")
        return
    typer.echo(f"{place}: {'would apply' if dry_run else 'applied'} {count(len(before.pending), 'migration')}:")
    for revision, title in migration_titles(before.pending).items():
        typer.echo(f"  {revision}  {title}")


def back_up(place: Place, file: Path, *, force: bool, as_json: bool) -> None:
    if place.path is None:
        raise InputError(
            f"{place} is a PostgreSQL database, which its own tool copies.",
            hint=f"Copy:    {dump_command(place.url, file)}\nRestore: {restore_command(place.url, file)}\n"
            "A password belongs into PGPASSWORD or ~/.pgpass.",
        )
    with looked_at(place) as source:
        require_ours(source)
    copies = copy_files(place.path, file.expanduser(), overwrite=force)
    if as_json:
        written = [{"source": str(c.source), "file": str(c.path), "bytes": c.size} for c in copies]
        print_json("touchline.backup/1", {"database": str(place), "copies": written})
        return
    for copy in copies:
        typer.echo(f"{copy.path}  {size(copy.size)}, verified")


def check(place: Place, *, as_json: bool) -> None:
    with looked_at(place) as source:
        checks = list(check_database(source))
    sound = all(one.result != "problem" for one in checks)
    if as_json:
        print_json("touchline.check/1", {"database": str(place), "sound": sound, "checks": as_dicts(checks)})
    else:
        print_checks(checks)
    if not sound:
        raise typer.Exit(Exit.FOUND)


def resend(place: Place, key: str, *, as_json: bool) -> None:
    from touchline.sessions.delivering import send_results
    from touchline.store.outbox import parcels, try_again

    with opened(place) as source:
        given_up = [each.key for each in parcels(source, status="failed", limit=10_000)]
        with source.writing() as connection:
            for each in [key] if key else given_up:
                try_again(connection, each)
        done = send_results(source)
    if as_json:
        value = {"database": str(place), "sent": done.sent, "failed": done.retried + done.failed}
        print_json("touchline.resend/1", value)
    else:
        again = f"; {done.retried + done.failed:,} failed again" if done.retried or done.failed else ""
        typer.echo(f"{done.sent:,} sent{again}." if done.sent or again else "Nothing was given up.")
    if done.retried or done.failed:
        raise typer.Exit(Exit.FOUND)


def vacuum(place: Place, *, as_json: bool) -> None:
    with opened(place) as target:
        done = give_back(target)
    if as_json:
        print_json("touchline.vacuum/1", {"database": str(place), "done": [asdict(one) for one in done]})
        return
    for one in done:
        freed = f"{size(one.before - one.after)} freed" if one.after < one.before else "nothing to free"
        typer.echo(f"{one.what}  {size(one.before)} → {size(one.after)}, {freed}")


def _standing(place: Place) -> Standing | None:
    if place.path is not None and not os.path.exists(place.path):
        return None
    with looked_at(place) as database:
        return standing_of(database)


def _schema_before(place: Place) -> Schema:
    if place.path is not None and not os.path.exists(place.path):
        return schema_of_nothing()
    with looked_at(place) as database:
        found = schema_of(database)
        refuse(found, database)
        return found


def _status_facts(place: Place, found: Standing | None) -> dict[str, str]:
    facts = {"Database": str(place), "Why this one": WHY[place.origin]}
    if found is None:
        return {**facts, "State": "not there yet"}
    kind = "SQLite" if found.kind == "sqlite" else "PostgreSQL"
    journal = f", journal mode {found.journal_mode}" if found.journal_mode else ""
    free = f", {size(found.free)} free on its disk" if found.free is not None else ""
    facts |= {"Kind": f"{kind} {found.version}{journal}", "Schema": _schema_words(found.schema)}
    facts |= {
        "Made for": {"user": "", "test": "tests"}.get(found.purpose or "", ""),
        "Size": f"{size(found.size)}{free}",
    }
    if found.events is None:
        return facts
    span = f", {_at(found.oldest)} to {_at(found.newest)}; newest number {found.newest_seq}" if found.events else ""
    facts |= {
        "Events": f"{found.events:,}{span}",
        "Readers": f"{found.readers:,}; {count(found.dead_letters or 0, 'dead letter')}",
        "Outbox": f"{found.to_deliver:,} to deliver; {found.given_up:,} given up",
    }
    return facts


def _schema_words(schema: Schema) -> str:
    match schema.state:
        case "current":
            return f"revision {schema.revision}, up to date"
        case "older":
            return f"revision {schema.revision}; pending: {', '.join(schema.pending)}"
        case "newer":
            return f"revision {schema.revision}, newer than this program ({schema.newest}): upgrade Touchline"
        case "empty":
            return f"no tables yet; pending: {', '.join(schema.pending)}"
        case "foreign":
            return "tables that are not Touchline's: use another database"


def _status_json(place: Place, found: Standing | None) -> dict[str, Any]:
    value: dict[str, Any] = {"database": str(place), "origin": place.origin, "exists": found is not None}
    if found is None:
        return value
    facts = asdict(found)
    schema = facts.pop("schema")
    # `newest` is the time of the newest event.
    schema["newest_revision"] = schema.pop("newest")
    facts = {**schema, **facts}
    facts |= {name: _at(facts[name]) if facts[name] else None for name in ("oldest", "newest")}
    return {**value, **facts}


def _at(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else UNKNOWN
