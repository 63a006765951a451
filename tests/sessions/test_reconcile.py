"""What a dead process left half-way is put in order at the next start, once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.sessions.house import House

from touchline.sessions import room
from touchline.sessions.asked import Asked
from touchline.sessions.raw import KEEP_BYTES, prune
from touchline.sessions.reconciling import reconcile
from touchline.store.statuses import create, move
from touchline.store.tables import sessions

pytestmark = pytest.mark.timeout(120)

ANSWERS = "turns:\n  - {text: The answer is 42.}\n"


def row(house: House, id: str, asked: Asked, status: str) -> None:
    with house.database.writing() as connection:
        create(connection, "sessions", id=id, agent="", task_text=asked.task, asked=asked.to_json())
        if status != "starting":
            move(connection, "sessions", id, status)


def test_a_session_whose_workflow_never_began_is_started_once(house: House) -> None:
    row(house, "session_lost", house.ask(ANSWERS, task="What is the answer?"), "starting")
    assert reconcile(house.engine, house.database).started == ("session_lost",)
    assert house.rest("session_lost").session.status == "delivered"
    assert reconcile(house.engine, house.database).started == ()


def test_a_session_whose_workflow_is_gone_fails_with_a_reason(house: House) -> None:
    row(house, "session_gone", house.ask(ANSWERS), "running")
    house.engine.start("session.nowhere", [], id="session_gone/run-1", delay=3600)
    house.engine.cancel("session_gone/run-1")
    assert reconcile(house.engine, house.database).failed == ("session_gone",)
    story = house.story("session_gone")
    assert (story.session.status, story.session.reason) == ("failed", "lost")
    assert len(story.of("session.ended")) == 1
    assert [status for _, status in story.parcels] == ["sent"], "whoever waits for the result is told, once"
    assert reconcile(house.engine, house.database).failed == ()


def test_old_streams_are_pruned_and_those_of_other_sessions_kept(tmp_path: Path) -> None:
    for name, age in (("old", 100), ("other", 100), ("new", 1), ("newest", 0)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "turn-1.jsonl").write_bytes(b"x" * 1000)
        at = time.time() - age * 86_400
        for path in (folder / "turn-1.jsonl", folder):
            os.utime(path, (at, at))
    ended = {"old", "new", "newest", "removed long ago"}
    assert prune(tmp_path, ended=ended, days=90, most=10**9) == ("old",)
    assert prune(tmp_path, ended=ended, only_by_age={"new", "newest"}, days=90, most=1000) == ()
    assert prune(tmp_path, ended=ended, days=90, most=1000) == ("new",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["newest", "other"]


def test_a_process_that_begins_prunes_its_own_databases_sessions_alone(house: House, tmp_path: Path) -> None:
    """Open ones stay, and so do those of another database in the same folder, which this one cannot know."""
    for id, status in (("session_over", "failed"), ("session_open", "starting")):
        row(house, id, house.ask(ANSWERS), status)
    folder = tmp_path / "sessions"
    for name in ("session_over", "session_open", "session_elsewhere"):
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (0, 0))
    room._prune(folder, tmp_path / "workspaces", house.database)
    assert sorted(path.name for path in folder.iterdir()) == ["session_elsewhere", "session_open"]


def test_work_that_was_never_collected_does_not_make_room_for_others(house: House, tmp_path: Path) -> None:
    folder, workspaces = tmp_path / "sessions", tmp_path / "workspaces"
    for id, commit in (("session_uncollected", None), ("session_collected", "c0ffee")):
        row(house, id, house.ask(ANSWERS), "failed")
        with house.database.writing() as connection:
            connection.execute(sessions.update().where(sessions.c.id == id).values(head_commit=commit))
        for place in (folder, workspaces):
            (place / id).mkdir(parents=True)
        (folder / id / "turn-1.jsonl").touch()
        os.truncate(folder / id / "turn-1.jsonl", KEEP_BYTES)  # takes no room: nothing is written
    os.utime(folder / "session_uncollected" / "turn-1.jsonl", (time.time() - 86_400,) * 2)
    os.utime(folder / "session_uncollected", (time.time() - 86_400,) * 2)  # the older one would go first
    room._prune(folder, workspaces, house.database)
    for place in (folder, workspaces):
        assert [path.name for path in place.iterdir()] == ["session_uncollected"]
