"""With what does a session begin? The agent, its confinement and its clone, chosen once and written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touchline.agents.port import Driver, Found
from touchline.errors import AgentError, WorkspaceError
from touchline.sessions.asked import Asked
from touchline.sessions.contracts import wants_marker
from touchline.sessions.events import about
from touchline.sessions.records import session_record
from touchline.sessions.room import Room
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.tables import sessions


def prepare(room: Room, id: str) -> dict[str, Any]:
    """Choose and make what is not there yet. Done again it changes nothing.

    A clone that was removed since (it was old, or somebody needed the room) is made anew with the work that was
    collected from it. AgentError, SandboxError or WorkspaceError when something cannot be had.
    """
    from touchline.agents import prompts, sandbox
    from touchline.agents.workspaces import clone

    with room.database.reading() as connection:
        record = session_record(connection, id)
    if record.workspace:
        if not Path(record.workspace).is_dir():
            clone.prepare(
                Path(record.repository),
                folder=room.workspaces,
                name=id,
                base=record.base_commit,
                start=record.head_commit,
                env=room.env,
            )
        return {"agent": record.agent}
    asked = record.asked
    driver, found = chosen_agent(room, asked)
    # Asked before by whoever started it; but it may be another machine that runs it.
    chosen = sandbox.choose(
        asked.sandbox, room.probe(), driver.abilities, read_only=asked.read_only, checked=bool(asked.check)
    )
    if not asked.repository:
        raise WorkspaceError("No repository is named.", hint="Name the folder of a git repository.")
    workspace = clone.prepare(Path(asked.repository), folder=room.workspaces, name=id, env=room.env)
    values: dict[str, Any] = {
        "agent": driver.name,
        "repository": str(workspace.repository),
        "workspace": str(workspace.path),
        "base_commit": workspace.base,
        "sandbox": chosen.level,
        "sandbox_why": chosen.why,
    }
    marker = prompts.new_marker() if wants_marker(asked.contract) else None
    with room.database.writing() as connection:
        if session_record(connection, id).workspace:
            return {"agent": record.agent}  # another execution of this step was faster
        query = sessions.update().where(sessions.c.id == id)
        connection.execute(query.values(**values, marker=marker, updated_at=now()))
        told = {**values, "model": asked.model, "version": found.version}
        append(connection, [about(id, "session.started", task_id=asked.task_id, **told)])
    return {"agent": driver.name}


def chosen_agent(room: Room, asked: Asked) -> tuple[Driver, Found]:
    """The named driver, or the first whose CLI is installed."""
    if asked.agent is None:
        return room.first_installed(room.env)
    return installed(room, asked.agent)


def installed(room: Room, name: str) -> tuple[Driver, Found]:
    """A driver by name, and its CLI on this machine."""
    driver = room.driver(name)
    found = driver.find(room.env)
    if found is None:
        raise AgentError(f"The agent {name!r} is not installed here.", hint=driver.advice())
    return driver, found
