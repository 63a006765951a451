"""Is there something new in the log? A cheap answer for those who wait; always with a look of their own behind it.

PostgreSQL tells by NOTIFY. On SQLite, writers of the same process ring a bell when their connection is given back,
which is after the commit; what other processes wrote is found by looking at the log's end every `LOOK_SECONDS`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event

if TYPE_CHECKING:
    from touchline.store.database import Database

CHANNEL = "touchline_events"
LOOK_SECONDS = 0.1
"""How often a reader of SQLite looks by itself, and any reader asks whether to stop. A look costs microseconds."""
LOOKS_TOLD = 10
"""Where notices come, a reader looks by itself only so many times more seldom."""
_APPENDED, _HEARD = "touchline_appended", "touchline_bell"


class Bell:
    """Rung after each commit of this process that appended events to one database."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.rung = 0

    def ring(self) -> None:
        with self._condition:
            self.rung += 1
            self._condition.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Until it was rung more often than `heard` times, or the time is over."""
        with self._condition:
            self._condition.wait_for(lambda: self.rung != heard, seconds)


_bells: dict[str, Bell] = {}
_guard = threading.Lock()


def bell_of(url: str) -> Bell:
    with _guard:
        return _bells.setdefault(url, Bell())


def ring_after_commit(connection: sa.Connection) -> None:
    """Called by who appended. Nothing happens if the transaction is rolled back, but for a look in vain."""
    if connection.dialect.name != "sqlite":
        return
    info = connection.info
    if _HEARD not in info:
        engine = connection.engine
        if not event.contains(engine, "checkin", _given_back):
            event.listen(engine, "checkin", _given_back)
        info[_HEARD] = bell_of(engine.url.render_as_string(hide_password=False))
    info[_APPENDED] = True


def _given_back(_connection: object, record: Any) -> None:
    if record.info.pop(_APPENDED, False):
        record.info[_HEARD].ring()


class Wake:
    """Waits for news of one database. Use it in a `with`: on PostgreSQL it holds a connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._bell = bell_of(database.engine.url.render_as_string(hide_password=False))
        self._listening: sa.Connection | None = None

    def __enter__(self) -> Wake:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()

    def mark(self) -> int:
        """Taken before looking at the log, so that what comes in between is not slept through.

        DatabaseUnreachable when the server does not answer."""
        if not self._database.sqlite:
            self._listen()
        return self._bell.rung

    def wait(self, mark: int, *, stop: Callable[[], bool] = lambda: False) -> None:
        """Until something may be new, or it is time to look."""
        if self._listening is None:
            self._bell.wait(mark, LOOK_SECONDS)
            return
        # SQLAlchemy has no word for notices; psycopg does.
        driver: Any = self._listening.connection.driver_connection
        try:
            for _ in range(LOOKS_TOLD):
                if stop() or list(driver.notifies(timeout=LOOK_SECONDS, stop_after=1)):
                    return
        except Exception:
            # The server went away: reading will say so if it stays away. The next mark listens anew.
            self._hang_up()

    def _listen(self) -> None:
        if self._listening is not None:
            return
        with self._database.explaining():
            connection = self._database.engine.connect()
            try:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                # Never back into the pool: the next user would get our notices.
                connection.detach()
                connection.exec_driver_sql(f"listen {CHANNEL}")
            except BaseException:
                connection.close()
                raise
        self._listening = connection

    def _hang_up(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
