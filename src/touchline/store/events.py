"""What happened? Events as values, and how the log is read: from any number on, by type and source, or as it grows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from touchline.errors import EventError
from touchline.store.database import Database
from touchline.store.event_types import KNOWN, known_type
from touchline.store.log_tables import events
from touchline.store.upcast import upcast
from touchline.store.wake import Wake

EVERYTHING = ("*",)
_MAX_SEQ = 2**63 - 1
_decoded = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """What an event is about."""

    idea: str | None = None
    spec: str | None = None
    build: str | None = None
    task: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to be appended."""

    type: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    """The fields that `known_events` lists for the type."""
    source: str
    """Who says so: a role or component."""
    ids: Ids = Ids()
    cause: int | None = None
    """The number of the event that led to this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of the log, in its type's current version."""

    seq: int
    """Its number: 1, 2, 3 and so on, in the order of commits."""
    at: datetime
    type: str
    version: int
    """The version it was written in."""
    payload: dict[str, Any]
    source: str
    ids: Ids
    cause: int | None


def read(
    where: Database | sa.Connection,
    after: int = 0,
    *,
    patterns: Sequence[str] = EVERYTHING,
    sources: Sequence[str] = (),
    limit: int = 1000,
    upto: int | None = None,
) -> list[Event]:
    """The next events after number `after`, oldest first. No `sources` means all of them.

    Patterns are names in which `*` stands for anything: `task.failed`, `alert.*`, `*`. EventError when an event cannot
    be understood, for instance because a newer Touchline wrote it.
    """
    if isinstance(where, Database):
        with where.reading() as connection:
            return read(connection, after, patterns=patterns, sources=sources, limit=limit, upto=upto)
    asked = {"after": after, "upto": _MAX_SEQ if upto is None else upto, "most": limit}
    rows = where.execute(_selected(tuple(patterns), tuple(sources)), asked).all()
    # Neighbours in the log are mostly about the same task and of the same commit: each value is made once.
    about: dict[tuple[str | None, ...], Ids] = {}
    times: dict[str, datetime] = {}
    found = []
    for seq, at, name, version, text, source, cause, idea, spec, build, task, session in rows:
        key = (idea, spec, build, task, session)
        ids = about.get(key)
        if ids is None:
            ids = about[key] = Ids(idea=idea, spec=spec, build=build, task=task, session=session)
        moment = times.get(at)
        if moment is None:
            moment = times[at] = datetime.fromisoformat(at)
        found.append(
            Event(
                seq=seq,
                at=moment,
                type=name,
                version=version,
                payload=_payload(seq, name, version, text),
                source=source,
                ids=ids,
                cause=cause,
            )
        )
    return found


def last_seq(where: Database | sa.Connection) -> int:
    """The number of the newest event; 0 when there is none."""
    if isinstance(where, Database):
        with where.reading() as connection:
            return last_seq(connection)
    return int(where.exec_driver_sql("select coalesce(max(seq), 0) from events").scalar_one())


def next_seq(
    connection: sa.Connection, after: int, *, patterns: Sequence[str], sources: Sequence[str], upto: int
) -> int | None:
    """The number of the next fitting event, whether or not its payload can be understood."""
    asked = {"after": after, "upto": upto, "most": 1}
    return connection.execute(_selected(tuple(patterns), tuple(sources)), asked).scalar()


def follow(
    database: Database,
    after: int = 0,
    *,
    patterns: Sequence[str] = EVERYTHING,
    sources: Sequence[str] = (),
    stop: Callable[[], bool] = lambda: False,
    limit: int = 1000,
) -> Iterator[Event]:
    """Events after number `after` as they come, until `stop()` says so; it is asked several times a second.

    When the database goes away a StoreError comes out; follow again from the last number seen.
    """
    with Wake(database) as wake:
        while not stop():
            mark = wake.mark()
            with database.reading() as connection:
                # The end first: what commits between the two is left for the next look.
                end = last_seq(connection)
                found = (
                    read(connection, after, patterns=patterns, sources=sources, limit=limit, upto=end)
                    if end > after
                    else []
                )
            for event in found:
                after = event.seq
                yield event
                if stop():
                    return
            if len(found) < limit:
                after = max(after, end)
                wake.wait(mark, stop=stop)


def check_patterns(patterns: Sequence[str]) -> None:
    """EventError for a pattern that no known event fits: it would wait in silence for ever."""
    known_type("idea.created")
    for pattern in patterns:
        if not any(_fits(pattern, name) for name in KNOWN):
            raise EventError(
                f"No known event fits the pattern {pattern!r}.", hint="Use a name, or one such as alert.* or *"
            )


def _fits(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


@lru_cache(maxsize=256)
def _selected(patterns: tuple[str, ...], sources: tuple[str, ...]) -> sa.Select[Any]:
    """Built once: putting the query together takes longer than reading a hundred events."""
    c = events.c
    # Times as text: reading them one by one through the column's type would cost more than all the rest.
    query = sa.select(
        *(c.seq, sa.type_coerce(c.at, sa.String), c.type, c.version, c.payload, c.source, c.cause),
        *(c.idea_id, c.spec_id, c.build_id, c.task_id, c.session_id),
    ).where(c.seq > sa.bindparam("after", type_=c.seq.type), c.seq <= sa.bindparam("upto", type_=c.seq.type))
    if "*" not in patterns:
        query = query.where(of_types(patterns))
    if sources:
        query = query.where(c.source.in_(list(sources)))
    return query.order_by(c.seq).limit(sa.bindparam("most", type_=sa.Integer))


def of_types(patterns: Sequence[str]) -> sa.ColumnElement[bool]:
    """Does an event's type fit one of the patterns?"""
    return sa.or_(sa.false(), *(_like(each) for each in patterns))


def _like(pattern: str) -> sa.ColumnElement[bool]:
    if "*" not in pattern:
        return events.c.type == pattern
    escaped = pattern.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return events.c.type.like(escaped.replace("*", "%"), escape="/")


def _payload(seq: int, name: str, version: int, text: str) -> dict[str, Any]:
    try:
        # Half the time of json.loads, which first looks for white space that `append` does not write.
        written, end = _decoded(text)
        if end != len(text) or not isinstance(written, dict):
            raise ValueError("it is no object")
        known = KNOWN.get(name)
        return written if known is not None and known.version == version else upcast(name, version, written)
    except ValueError as error:
        raise EventError(
            f"Event {seq} ({name}): the payload cannot be read ({error}).", hint="Run: touchline db check"
        ) from error
    except EventError as error:
        raise EventError(f"Event {seq}: {error.message}", hint=error.hint) from error
