"""What is remembered of a specification? Its row, its life and its events; the text itself stays in its two files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from touchline.coordination.leases import repository_mark
from touchline.errors import SpecError
from touchline.models.asking import Answer
from touchline.models.booking import book
from touchline.roles.specification.checking import Finding, check_spec
from touchline.roles.specification.spec import Spec
from touchline.roles.specification.spec_file import read_spec, with_head
from touchline.roles.specification.task import Task
from touchline.roles.specification.tasks_file import read_tasks
from touchline.roles.specification.writing import write_whole
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.events import Ids, NewEvent
from touchline.store.log_tables import counters
from touchline.store.statuses import bump, create_once, move
from touchline.store.tables import specs

SOURCE = "specification"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRow:
    """A specification as the database knows it."""

    id: str
    status: str
    version: int
    path: Path
    tasks_path: Path
    approved_by: str | None
    created_at: datetime


def keep(
    connection: sa.Connection,
    spec: Spec,
    paths: tuple[Path, Path],
    *,
    tasks: int,
    answers: tuple[tuple[str, Answer[Any]], ...],
) -> None:
    """Write down a specification that was drafted, or drafted anew, and what that cost."""
    values = {"path": str(paths[0]), "tasks_path": str(paths[1])}
    if create_once(connection, "specs", unique="id", id=spec.id, **values) is None:
        move(connection, "specs", spec.id, "draft", version=spec.version, approved_by=None, approved_at=None, **values)
    move(connection, "specs", spec.id, "waiting")
    book(connection, answers)
    told = {"path": str(paths[0]), "tasks_path": str(paths[1]), "tasks": tasks}
    append(connection, [_event("spec.generated", spec.id, **told)])


def find_spec(connection: sa.Connection, given: str = "") -> SpecRow:
    """The one with that id, the beginning of an id, or that folder; the newest when none is named."""
    query = sa.select(specs).order_by(specs.c.created_at.desc(), specs.c.id.desc())
    rows = [_row(row) for row in connection.execute(query).mappings()]
    if not rows:
        raise SpecError("There is no specification yet.", hint="Write one:", then="spec new BRIEF.md")
    if not given:
        return rows[0]
    folder = Path(os.path.abspath(given))  # as it was written down: without `..`
    fitting = [row for row in rows if row.id == given or folder in (row.path, row.path.parent)]
    fitting = fitting or [row for row in rows if row.id.startswith(given)]
    if len(fitting) != 1:
        what = "several specifications begin with" if fitting else "there is no specification"
        raise SpecError(f"{what} {given!r}.", hint=f"There are: {', '.join(row.id for row in rows[:10])}.")
    return fitting[0]


def read_files(row: SpecRow) -> tuple[Spec, tuple[Task, ...]]:
    """Both files as they are now, hand edits included."""
    try:
        spec = read_spec(row.path.read_text(encoding="utf-8"), file=str(row.path))
        tasks = read_tasks(row.tasks_path.read_text(encoding="utf-8"), file=str(row.tasks_path))
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{row.path.parent}: the specification cannot be read: {error}.") from error
    return spec, tasks.tasks


def require_sound(row: SpecRow) -> tuple[Finding, ...]:
    """The warnings about its files as they stand, hand edits included; SpecError when there is more."""
    findings = check_spec(*read_files(row))
    errors = [finding for finding in findings if finding.grade == "error"]
    if errors:
        listed = "".join(f"\n  {each.where}: {each.text}" for each in errors)
        raise SpecError(
            f"{row.path}:1: it is not ready:{listed}",
            hint="Mend the files, or ask for a revision:",
            then=f"spec revise {row.id} 'what to change'",
        )
    return findings


def approve(connection: sa.Connection, row: SpecRow, *, by: str) -> tuple[Finding, ...]:
    """Approve it as its files stand. SpecError when something is wrong with them; warnings are returned."""
    findings = require_sound(row)
    moment = now()
    move(connection, "specs", row.id, "approved", approved_by=by, approved_at=moment)
    append(connection, [_event("spec.approved", row.id, by=by)])
    text = row.path.read_text(encoding="utf-8")
    write_whole(row.path, with_head(text, file=str(row.path), status="approved", approved_by=by))
    return findings


def ask_revision(connection: sa.Connection, row: SpecRow, text: str, *, by: str) -> None:
    """A person wants something changed. SpecError without a word of what."""
    if not text.strip():
        raise SpecError(f"{row.id}: say what to change.", then=f"spec revise {row.id} 'what to change'")
    move(connection, "specs", row.id, "revision")
    bump(connection, "specs", row.id, "version")
    append(connection, [_event("spec.revision_requested", row.id, by=by, text=text)])


def next_number(connection: sa.Connection, repository: Path, folder: str, at_least: int) -> int:
    """A number for a migration in that folder, given out once: two specifications at a time get two numbers."""
    name = f"migration:{repository_mark(repository)}:{folder}"[:200]
    # Whoever wants a number for the same folder waits here for the other one's.
    bump(connection, "counters", name, "value", 0)
    given = int(connection.execute(sa.select(counters.c.value).where(counters.c.name == name)).scalar() or 0)
    return bump(connection, "counters", name, "value", max(1, at_least - given))


def _row(values: Any) -> SpecRow:
    return SpecRow(
        id=values["id"],
        status=values["status"],
        version=values["version"],
        path=Path(values["path"]),
        tasks_path=Path(values["tasks_path"]),
        approved_by=values["approved_by"],
        created_at=values["created_at"],
    )


def _event(type: str, spec_id: str, **payload: Any) -> NewEvent:
    return NewEvent(type=type, payload=payload, source=SOURCE, ids=Ids(spec=spec_id))
