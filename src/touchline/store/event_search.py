"""Which events are about this? By type, source, task, session, build and time; the newest, or from a number on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa

from touchline.store.database import Database
from touchline.store.events import EVERYTHING, Event, check_patterns, of_types, read
from touchline.store.log_tables import events


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for; what is empty lets everything through."""

    patterns: Sequence[str] = EVERYTHING
    sources: Sequence[str] = ()
    build: str | None = None
    task: str | None = None
    session: str | None = None
    since: datetime | None = None

    def about(self, event: Event) -> bool:
        """Does the event concern the build, task and session, at a time that is asked for?"""
        ids = event.ids
        pairs = ((self.build, ids.build), (self.task, ids.task), (self.session, ids.session))
        return all(want in (None, has) for want, has in pairs) and (self.since is None or event.at >= self.since)


def search(database: Database, wanted: Wanted, *, after: int | None = None, limit: int = 50) -> list[Event]:
    """The newest events that fit, or with `after` the first ones after that number; oldest first in both cases."""
    check_patterns(wanted.patterns)
    numbers = sa.select(events.c.seq).where(*_conditions(wanted)).limit(limit)
    if after is None:
        numbers = numbers.order_by(events.c.seq.desc())
    else:
        numbers = numbers.where(events.c.seq > after).order_by(events.c.seq)
    with database.reading() as connection:
        found = sorted(connection.execute(numbers).scalars())
        return [event for first, last in _runs(found) for event in _between(connection, first, last)]


def before_since(database: Database, since: datetime) -> int:
    """The number of the last event before that time."""
    with database.reading() as connection:
        question = sa.select(sa.func.max(events.c.seq)).where(events.c.at < since)
        return connection.execute(question).scalar() or 0


def _conditions(wanted: Wanted) -> Iterator[sa.ColumnElement[bool]]:
    columns = events.c
    if "*" not in wanted.patterns:
        yield of_types(wanted.patterns)
    if wanted.sources:
        yield columns.source.in_(list(wanted.sources))
    if wanted.since is not None:
        yield columns.at >= wanted.since
    for column, value in (
        (columns.build_id, wanted.build),
        (columns.task_id, wanted.task),
        (columns.session_id, wanted.session),
    ):
        if value is not None:
            yield column == value


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring numbers as first and last, so that each stretch of the log is read once."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        stretch = [number for _, number in run]
        yield stretch[0], stretch[-1]


def _between(connection: sa.Connection, first: int, last: int) -> list[Event]:
    return read(connection, first - 1, upto=last, limit=last - first + 1)
