"""How is an event about a session written? One source, the session's and its task's id beside it, nothing empty."""

from __future__ import annotations

from typing import Any

from touchline.store.events import Ids, NewEvent

SOURCE = "sessions"


def about(session: str, type: str, *, task_id: str | None = None, **payload: Any) -> NewEvent:
    """An event of this session; fields that are None are left out."""
    told = {name: value for name, value in payload.items() if value is not None}
    return NewEvent(type=type, payload=told, source=SOURCE, ids=Ids(session=session, task=task_id))
