"""Is the session still wanted? The engine may say no, or a person in the session's row. Cheap to be asked often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from touchline.agents.crowd import patience
from touchline.sessions.room import Room
from touchline.store.database import Database
from touchline.store.tables import sessions

ASK_SECONDS = 0.5
"""How often the rows are looked at, once for all sessions of the process: a look for each would be most of its work."""
ENGINE_SECONDS = 10.0
"""How often the engine is asked, for each session by itself; in a crowd, less. It says no when the job was cancelled,
or when this process was taken for dead and another goes on."""


_ASKED_TO_STOP = sa.select(sessions.c.id).where(
    sessions.c.status.in_(("starting", "running")), sessions.c.stop_asked_at.is_not(None)
)


class Unwanted:
    """Called without arguments; once it has said True it stays with it."""

    def __init__(self, room: Room, id: str, must_stop: Callable[[], bool]) -> None:
        self._room, self._id, self._must_stop = room, id, must_stop
        self._since = time.monotonic()
        self._engine_next, self._said = self._since + ENGINE_SECONDS, False

    def __call__(self) -> bool:
        if self._said:
            return True
        self._said = self._id in _look_of(self._room.database).asked(self._room.database, since=self._since)
        if not self._said and time.monotonic() >= self._engine_next:
            self._engine_next = time.monotonic() + patience(ENGINE_SECONDS)
            self._said = self._must_stop()
        return self._said


class _Look:
    """Whom persons want to stop, as it was when somebody last looked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = float("-inf")
        self._ids: frozenset[str] = frozenset()

    def asked(self, database: Database, *, since: float) -> frozenset[str]:
        """Not older than `ASK_SECONDS`, nor than `since`: a session that was resumed must not see its old stop."""
        with self._lock:
            now = time.monotonic()
            if self._at < since or now - self._at >= ASK_SECONDS:
                with database.reading() as connection:
                    self._ids = frozenset(connection.execute(_ASKED_TO_STOP).scalars())
                self._at = now
            return self._ids


_looks: WeakKeyDictionary[Database, _Look] = WeakKeyDictionary()
_guard = threading.Lock()


def _look_of(database: Database) -> _Look:
    with _guard:
        return _looks.setdefault(database, _Look())


def stop_asked(room: Room, id: str) -> bool:
    """Whether a person wants it to stop."""
    with room.database.reading() as connection:
        query = sa.select(sessions.c.stop_asked_at).where(sessions.c.id == id)
        return connection.execute(query).scalar() is not None
