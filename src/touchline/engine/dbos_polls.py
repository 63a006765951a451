"""Is there anything to fetch? On SQLite one small question comes before each of the engine's long ones.

DBOS looks into every queue twice a second, and at delayed and overdue work once, with transactions that SQLAlchemy puts
together anew: that was half of what an idle Touchline cost. Here the same rows are asked for by a prepared statement,
and DBOS is let through when there is one. Its methods are private; whatever fails here, it asks as it always did.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_QUEUED = (
    "SELECT 1 FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING') AND status = 'ENQUEUED' AND queue_name = ?"
)
_DUE = "SELECT 1 FROM workflow_status WHERE status = 'DELAYED' AND delay_until_epoch_ms <= ?"
BOOKED = (
    "SELECT 1 FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING') AND status = 'PENDING' AND executor_id = ?"
)
_OVERDUE = (
    "SELECT 1 FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING', 'DELAYED')"
    " AND workflow_deadline_epoch_ms IS NOT NULL AND workflow_deadline_epoch_ms <= ?"
)
"""As DBOS's own indexes are, so that none of them reads the work that has ended."""


class Glance:
    """A connection that only looks. Threads take turns."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = sqlite3.connect(
            path, timeout=1.0, isolation_level=None, check_same_thread=False
        )

    def sees(self, question: str, asked: object) -> bool:
        """Whether there is such a row; also when that cannot be told."""
        with self._lock:
            if self._connection is None:
                return True
            try:
                return self._connection.execute(f"{question} LIMIT 1", (asked,)).fetchone() is not None
            except sqlite3.Error:
                return True

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def look_first(system: Any, path: Path) -> Glance:
    """Let DBOS's system database ask its long questions only where a short one found something.

    After the queues were registered: on SQLite this process alone does that, so their rows are read once from now on.
    """
    glance = Glance(path)
    claim, overdue, delayed = (
        system.start_queued_workflows,
        system.cancel_timed_out_workflows,
        system.transition_delayed_workflows,
    )

    def start_queued_workflows(queue: Any, *args: Any, **kwargs: Any) -> Any:
        return claim(queue, *args, **kwargs) if glance.sees(_QUEUED, queue.name) else ([], None)

    def cancel_timed_out_workflows(limit: int) -> Any:
        return overdue(limit) if glance.sees(_OVERDUE, _now()) else []

    def transition_delayed_workflows() -> None:
        if glance.sees(_DUE, _now()):
            delayed()

    system.start_queued_workflows = start_queued_workflows
    system.cancel_timed_out_workflows = cancel_timed_out_workflows
    system.transition_delayed_workflows = transition_delayed_workflows
    system.get_queue = _once(system.get_queue)
    system.list_queues = _once(system.list_queues)
    return glance


def _once(read: Callable[..., Any]) -> Callable[..., Any]:
    """What was found is not read again; what was not found is."""
    known: dict[Any, Any] = {}

    def asked(*args: Any, **kwargs: Any) -> Any:
        key = (args, tuple(kwargs.items()))
        if not known.get(key):
            known[key] = read(*args, **kwargs)
        return known[key]

    return asked


def _now() -> int:
    return int(time.time() * 1000)
