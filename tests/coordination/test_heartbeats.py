"""Heartbeats: who is alive, who went silent; starts and stops are told, beats are not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.coordination.noon import at

from touchline.coordination.heartbeats import beat, components, silent, stop
from touchline.errors import InputError
from touchline.store.columns import now as machine_time
from touchline.store.database import Database
from touchline.store.events import read


def story(database: Database) -> list[str]:
    return [event.type.removeprefix("component.") for event in read(database, patterns=["component.*"])]


def quiet(database: Database, when: float, **more: float) -> list[str]:
    with database.reading() as connection:
        return [each.component for each in silent(connection, at(when), **more)]


def test_many_beats_are_one_start(database: Database) -> None:
    assert beat(database, component="worker-1", kind="worker", now=at(0))
    for second in range(1, 6):
        assert not beat(database, component="worker-1", kind="worker", detail={"jobs": second}, now=at(second))
    with database.reading() as connection:
        (found,) = components(connection)
    assert (found.started_at, found.beat_at, found.detail, found.status) == (at(0), at(5), {"jobs": 5}, "alive")
    assert story(database) == ["started"]


def test_silence_is_longer_than_the_limit_and_only_of_those_who_should_live(database: Database) -> None:
    beat(database, component="a", kind="worker", now=at(0))
    beat(database, component="b", kind="worker", now=at(10))
    beat(database, component="c", kind="worker", now=at(0))
    stop(database, "c", now=at(1))
    assert quiet(database, 300) == []
    assert quiet(database, 301) == ["a"]
    assert quiet(database, 311) == ["a", "b"]
    assert quiet(database, 12, seconds=1) == ["a", "b"]
    beat(database, component="a", kind="worker", now=at(312))
    assert quiet(database, 312) == ["b"]


def test_a_stop_is_told_once_and_a_new_process_is_a_new_start(database: Database) -> None:
    assert not stop(database, "worker-1")
    beat(database, component="worker-1", kind="worker", pid=7, now=at(0))
    assert stop(database, "worker-1", reason="asked to", now=at(1))
    assert not stop(database, "worker-1", now=at(2))
    assert beat(database, component="worker-1", kind="worker", pid=7, now=at(3))
    assert beat(database, component="worker-1", kind="worker", pid=8, now=at(4))
    assert not beat(database, component="worker-1", kind="worker", pid=8, now=at(5))
    assert story(database) == ["started", "stopped", "started", "started"]
    stopped = read(database, patterns=["component.stopped"])[0].payload
    assert (stopped["pid"], stopped["reason"], stopped["kind"]) == (7, "asked to", "worker")
    with database.reading() as connection:
        assert components(connection)[0].started_at == at(4)


def test_without_a_given_time_it_is_the_databases(database: Database) -> None:
    beat(database, component="a", kind="worker")
    with database.reading() as connection:
        assert silent(connection) == []
        assert abs(components(connection)[0].beat_at - machine_time()) < timedelta(minutes=1)


def test_a_name_that_cannot_be_kept_is_refused(database: Database) -> None:
    for name in ("", "x" * 201):
        with pytest.raises(InputError):
            beat(database, component=name, kind="worker")
