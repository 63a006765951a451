"""The one limit over a build's sessions, on both databases: what is reserved side by side, settled, and warned of."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa

from touchline.models.asking import Answer
from touchline.models.booking import book
from touchline.sessions import governor
from touchline.sessions.asked import Asked
from touchline.sessions.governor import Hold, Refused
from touchline.sessions.records import SessionRecord, session_record
from touchline.sessions.room import Room
from touchline.store.columns import new_id
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.spend_tables import reservations
from touchline.store.statuses import create
from touchline.supervision.facts import Usage

pytestmark = pytest.mark.timeout(120)


def room_of(database: Database) -> Room:
    """All that the governor uses of it."""
    return cast(Room, SimpleNamespace(database=database, env={}))


def sessions_of(database: Database, number: int, **budget: Any) -> tuple[str, list[SessionRecord]]:
    """A build with that budget, and sessions of its one task that run."""
    with database.writing() as connection:
        build = create(connection, "builds", id=new_id("build"), repository="r", budget=budget)
        task = create(connection, "tasks", build_id=build, key="T-1", phase="api", action="CREATE", file="a.py")
        asked = Asked(task="Write it.", repository="r", task_id=task).to_json()
        given = {"agent": "scripted", "task_id": task, "status": "running", "asked": asked}
        ids = [create(connection, "sessions", **given) for _ in range(number)]
        return build, [session_record(connection, id) for id in ids]


def test_side_by_side_no_more_is_reserved_than_there_is(database: Database) -> None:
    build, records = sessions_of(database, 16, tokens=1000)
    stop = threading.Event()
    with ThreadPoolExecutor(16) as pool:
        found = [pool.submit(governor.reserve, room_of(database), each, 1, stop.is_set) for each in records]
        end = time.monotonic() + 60
        while sum(each.done() for each in found) < 10 and time.monotonic() < end:
            time.sleep(0.05)
        stop.set()
    held = [each.result() for each in found]
    assert (sum(isinstance(each, Hold) for each in held), held.count(None)) == (10, 6), "six found nothing left"
    with database.reading() as connection:
        query = sa.select(sa.func.sum(reservations.c.tokens)).where(reservations.c.scope == f"build:{build}")
        assert connection.execute(query).scalar() == 1000


def test_what_is_spent_is_summed_warned_of_once_and_refused_at_the_limit(database: Database) -> None:
    build, (first, second) = sessions_of(database, 2, tokens=1000, usd=1.0)
    room = room_of(database)
    assert isinstance(governor.reserve(room, first, 1, lambda: True), Hold)
    for tokens, usd in ((700, 0.5), (150, 0.1), (200, 0.1)):
        with database.writing() as connection:
            spent: Answer[Any] = Answer(value=None, model="m", usage=Usage(input=tokens), cost_usd=usd)
            book(connection, [("review_code", spent)], build_id=build)
            governor.settle(room, connection, first, 1)
    refused = governor.reserve(room, second, 1, lambda: True)
    assert isinstance(refused, Refused)
    assert (refused.why, refused.words) == ("over", f"The build {build} has used 1050 of 1000 tokens.")
    with database.reading() as connection:
        warned = [e for e in read(connection, limit=1000) if e.type == "alert.budget" and e.ids.build == build]
        states = connection.execute(sa.select(reservations.c.status)).scalars().all()
    assert [event.payload["spent"] for event in warned] == [850.0], "once, at the first step beyond 80 %"
    assert states == ["settled"]
