"""A person's answer that was written and did not wake its session wakes it at the next start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.sessions.house import opened, place_of

from touchline.engine.opening import connect_engine
from touchline.sessions.reconciling import reconcile
from touchline.sessions.records import session_record
from touchline.sessions.stopping import _answered
from touchline.store.migrate import open_database

pytestmark = pytest.mark.timeout(120)


def test_an_answer_that_did_not_reach_the_engine_is_given_again(tmp_path: Path) -> None:
    script = "turns:\n  - {text: Should I use tabs or spaces?}\n  - {heard: spaces, text: The answer is spaces.}\n"
    with opened(tmp_path) as house:
        id = house.run(script, task="What is the answer?").session.id
    place = place_of(tmp_path)
    with open_database(place.url, purpose="test") as database:
        # The process dies between the row and the engine: nothing wakes what waits.
        with database.writing() as connection:
            _answered(connection, session_record(connection, id), "spaces", "ann")
        engine = connect_engine(place)
        assert reconcile(engine, database).answered == (id,)
        engine.close()
    with opened(tmp_path) as house:
        assert house.rest(id, unlike="waiting", seconds=15).session.delivery == "accepted"
    streams, stranger = tmp_path / "sessions" / id, tmp_path / "sessions" / "session_elsewhere"
    stranger.mkdir()
    for path in (*streams.iterdir(), streams, stranger):
        os.utime(path, (0, 0))
    with opened(tmp_path):
        assert not streams.exists(), "streams of long ago are removed when a process begins"
        assert stranger.exists(), "what may be another database's is left alone"
