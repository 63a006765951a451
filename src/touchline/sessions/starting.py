"""How does a session begin? A row with all that was asked, then its workflow; either may be repeated."""

from __future__ import annotations

from touchline.engine.port import Engine
from touchline.sessions.asked import Asked
from touchline.sessions.events import about
from touchline.sessions.records import job_id
from touchline.store.append import append
from touchline.store.columns import new_id
from touchline.store.database import Database
from touchline.store.fault_points import fault_point
from touchline.store.statuses import create_once

WORKFLOW = "session.run"


def start_session(engine: Engine, database: Database, asked: Asked, *, id: str | None = None) -> str:
    """Start a session and return its id. With an `id` of the caller's, a second start changes nothing.

    A process that dies between the row and the workflow leaves a session that `reconcile` starts.
    """
    id = id or new_id("session")
    with database.writing() as connection:
        made = create_once(
            connection,
            "sessions",
            unique="id",
            id=id,
            task_id=asked.task_id,
            agent=asked.agent or "",
            model=asked.model,
            task_text=asked.task,
            phase=asked.in_phase.name if asked.in_phase else None,
            repository=asked.repository,
            asked=asked.to_json(),
        )
        if made is not None:
            append(
                connection,
                [about(id, "session.asked", task=asked.task, agent=asked.agent or "", task_id=asked.task_id)],
            )
    fault_point("session.asked")
    engine.start(WORKFLOW, [id], id=job_id(id, 1))
    return id
