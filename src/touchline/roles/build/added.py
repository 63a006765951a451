"""What did people add to a build since it began? Tasks in tasks.md that it does not know: how a person mends what no
task of the plan was about."""

from __future__ import annotations

import sqlalchemy as sa

from touchline.roles.build.changes import add_tasks
from touchline.roles.build.rows import BuildRow, tasks_of
from touchline.roles.specification.keeping import find_spec, read_files, require_sound


def take_in_added(connection: sa.Connection, build: BuildRow) -> None:
    """Give the build the tasks that were added to its file. SpecError when that is broken; one that was removed adds
    nothing. Tasks that the build knows stay as they are, whatever the file says now."""
    if build.spec_id is None:
        return
    spec = find_spec(connection, build.spec_id)
    if not spec.tasks_path.exists():
        return
    rows = tasks_of(connection, build.id)
    known = {row.task.id for row in rows}
    added = [task for task in read_files(spec)[1] if task.id not in known]
    if added:
        require_sound(spec)  # as before a start: they were written after the approval
        add_tasks(connection, build.id, added, spec_id=spec.id, position=len(rows))
