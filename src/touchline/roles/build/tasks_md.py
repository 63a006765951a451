"""How does tasks.md follow the build? A status, a ticked box and a line in its log; hand-written text stays."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from touchline.errors import SpecError
from touchline.roles.build.changes import keep_data
from touchline.roles.build.rows import BuildRow, TaskRow
from touchline.roles.build.workshop import Workshop
from touchline.roles.specification.tasks_file import with_line, with_status
from touchline.roles.specification.writing import write_whole
from touchline.store.database import Database
from touchline.store.tables import specs


def note(database: Database, build: BuildRow, row: TaskRow) -> None:
    """Write the task's state into its file. A file that people removed or broke is left alone, and that is told."""
    with database.reading() as connection:
        query = sa.select(specs.c.tasks_path).where(specs.c.id == build.spec_id)
        path = Path(str(connection.execute(query).scalar() or ""))
    shop = Workshop(path=Path(build.workshop), env={})
    try:
        with shop.locked("tasks-file"):  # two tasks that end at once must not overwrite each other's line
            text = path.read_text(encoding="utf-8")
            changed = with_status(text, row.task.id, row.task.status, file=str(path))
            line = _line(row)
            if line not in changed:
                changed = with_line(changed, "Execution log", line)
            if changed != text:
                write_whole(path, changed)
    except (OSError, UnicodeDecodeError, SpecError) as error:
        with database.writing() as connection:
            keep_data(connection, row.id, file_error=f"tasks.md was not updated: {error}"[:500])


def _line(row: TaskRow) -> str:
    commit = row.data.get("commit")
    match row.task.status:
        case "complete":
            return f"{row.task.id}: complete after {row.attempts} attempt(s)" + (
                f", commit {commit[:12]}" if commit else ""
            )
        case "failed" | "skipped" | "blocked":
            ended = row.ended
            words = str(ended.get("detail") or row.reason or "").strip().partition("\n")[0][:200]
            return f"{row.task.id}: {row.task.status} after {row.attempts} attempt(s): {words}"
        case _:
            return f"{row.task.id}: {row.task.status}"
