"""How does a result reach whoever asked? Its row commits with the decision and the status, then a sender takes it out.

One delivery per stop: the key is made of the session, its run, and the number of the turn that stopped.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa

from touchline.agents.port import Level
from touchline.errors import SessionError, TouchlineError
from touchline.sessions import snapshots
from touchline.sessions.events import about
from touchline.sessions.records import SessionRecord, session_record, turns_of_session
from touchline.sessions.room import Room
from touchline.sessions.spending import spent_to_json
from touchline.store import outbox
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.fault_points import fault_point
from touchline.store.log_tables import outbox as outbox_table
from touchline.store.statements import reading
from touchline.store.statuses import move

_FILES = 200
_TEXT = 20_000
_CLAIM_SECONDS = 2.0
"""Sending takes milliseconds: who holds a claim for longer has died."""
_WAIT_SECONDS = 30.0


def delivery_key(session: SessionRecord, number: int) -> str:
    """The idempotency key of one stop: a run that failed before its first turn has a stop, too."""
    return f"{session.id}/run-{session.runs}/stop-{number}"


def was_delivered(connection: sa.Connection, session: SessionRecord, number: int) -> bool:
    """Whether this very stop has its delivery."""
    query = reading(outbox_table.c.id, outbox_table.c.key)
    return connection.execute(query, {"at_key": delivery_key(session, number)}).first() is not None


def collect_work(room: Room, id: str) -> dict[str, Any]:
    """Import the agent's commits into the person's repository, as refs/touchline/<session>/head; no branch is touched.

    What cannot be collected is told in the result, and the result is delivered all the same.
    """
    from touchline.agents.workspaces import clone
    from touchline.agents.workspaces.collect import collect

    with room.database.reading() as connection:
        record = session_record(connection, id)
    if not record.workspace or record.asked.read_only:
        return {}
    try:
        workspace = clone.opened(Path(record.repository), folder=room.workspaces, name=id, env=room.env)
        level = cast(Level, record.sandbox)
        # What a check wrote is no part of the work, until the agent makes it one.
        left_out = snapshots.made_by_checks(room.of(id), workspace.path)
        task = record.asked.task
        found = collect(workspace, level=level, env=room.env, records=room.records, task=task, left_out=left_out)
    except TouchlineError as error:
        return {"error": str(error)}
    fault_point("session.collected")
    return {
        "commit": found.commit,
        "base": found.base,
        "ref": f"refs/touchline/{id}/head",
        "files": found.files,
        "insertions": found.insertions,
        "deletions": found.deletions,
        "committed_by_agent": found.committed_by_agent,
        "uncommitted": found.uncommitted,
        "leftovers": list(found.leftovers),
        "changed": [
            {"path": f.path, "status": f.status, "insertions": f.insertions, "deletions": f.deletions}
            for f in found.changes.files[:_FILES]
        ],
    }


def deliver(
    connection: sa.Connection, id: str, number: int, judged: Mapping[str, Any], changes: Mapping[str, Any]
) -> str:
    """Write the end of a session: status, result and delivery, in the caller's transaction. Returns the key."""
    record = session_record(connection, id)
    turns = turns_of_session(connection, id)
    spent = spent_to_json(turns)
    status = "failed" if judged["delivery"] == "error" else "delivered"
    result = {
        "session": id,
        "status": status,
        "delivery": judged["delivery"],
        "reason": judged["reason"],
        "message": judged["message"],
        "missing": list(judged.get("missing", ())),
        "task": record.asked.task,
        "agent": record.agent,
        "model": record.model,
        "sandbox": record.sandbox,
        "text": str(judged.get("final_text", ""))[:_TEXT],
        "values": judged.get("values", {}),
        "recovered_by": judged.get("recovered_by", ""),
        "evidence": judged.get("evidence", {}),
        "review": {
            name: judged["ruling"][name] for name in ("verdict", "guidance", "lesson") if name in judged["ruling"]
        }
        if judged.get("ruling")
        else {},
        "changes": dict(changes),
        "spent": spent,
    }
    move(
        connection,
        "sessions",
        id,
        status,
        reason=judged["reason"],
        delivery=judged["delivery"],
        detail=judged["message"],
        result=result,
        spent=spent,
        # What an earlier run brought stays what can be applied, where this one brought nothing.
        head_commit=changes.get("commit") or record.head_commit,
        ended_at=now(),
    )
    key = delivery_key(record, number)
    asked = record.asked
    outbox.enqueue(connection, key=key, channel=asked.channel, destination=asked.destination, body=result)
    ended = about(
        id,
        "session.ended",
        task_id=asked.task_id,
        status=status,
        reason=judged["reason"],
        delivery=judged["delivery"],
        detail=judged["message"] or None,
        turns=spent["turns"],
        tokens=spent["tokens"],
        cost_usd=spent["usd"],
        cost_estimated=spent.get("estimated"),
        seconds=spent["seconds"],
    )
    append(connection, [ended])
    fault_point("session.delivering")
    return key


def send(delivery: outbox.Delivery) -> None:
    """Hand a result over. The terminal shows the session's row itself, so that the row is all it needs."""
    match delivery.channel:
        case "terminal":
            pass
        case "file":
            _write(Path(delivery.destination), {"key": delivery.key, **delivery.body})
        case _:
            raise SessionError(f"Nobody here sends by {delivery.channel!r}.", hint="Known: terminal, file.")
    fault_point("session.sent")


def send_results(database: Database) -> outbox.Sent:
    """Send what is due."""
    return outbox.send_due(database, send, worker=f"sessions.{os.getpid()}", lease_seconds=_CLAIM_SECONDS)


def send_now(database: Database, key: str) -> str:
    """Send until this one is out, or given up; the status of its row. A claim of a dead sender is waited out."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        send_results(database)
        with database.reading() as connection:
            query = sa.select(outbox_table.c.status).where(outbox_table.c.key == key)
            status = connection.execute(query).scalar()
        if status in (None, "sent", "failed") or time.monotonic() > deadline:
            return str(status)
        time.sleep(0.1)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    """The whole file or none of it; written again it is the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=1), encoding="utf-8")
    part.replace(path)
