"""How long has a build worked? The time in which agents or checks were at work; waiting for a person is none of it.

Nor is the time in which nothing ran the build at all: a question may be answered the next day.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from touchline.roles.build.rows import BuildRow, TaskRow
from touchline.roles.build.states import State
from touchline.store.database import Database
from touchline.store.log_tables import counters
from touchline.store.statuses import bump

SAVE_SECONDS = 15.0
"""As much may be forgotten when the process dies."""


class WorkingTime:
    """The working time of a build's present run, kept in a counter of milliseconds, which outlives the process."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock = database, clock
        self._kept: float | None = None
        self._more = 0.0
        self._looked = clock()

    def seconds(self, build: BuildRow, rows: Sequence[TaskRow]) -> float:
        """All of it until now. To be asked often: the time since the last look counts when something works now."""
        before, self._looked = self._looked, self._clock()
        if self._kept is None:
            self._kept = self._read(build)
        elif any(row.running and row.state is not State.QUESTION for row in rows):
            self._more += self._looked - before
        if self._more >= SAVE_SECONDS:
            self.save(build)
        return self._kept + self._more

    def save(self, build: BuildRow) -> None:
        """Write down what was counted since the last time."""
        milliseconds = int(self._more * 1000)
        if milliseconds:
            with self._database.writing() as connection:
                self._kept = bump(connection, "counters", _name(build), "value", milliseconds) / 1000
            self._more -= milliseconds / 1000

    def _read(self, build: BuildRow) -> float:
        with self._database.reading() as connection:
            query = sa.select(counters.c.value).where(counters.c.name == _name(build))
            return int(connection.execute(query).scalar() or 0) / 1000


def _name(build: BuildRow) -> str:
    return f"worked:{build.job}"
