"""What old sessions left on the disk goes when a process begins."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.sessions.house import opened

pytestmark = pytest.mark.timeout(120)

ANSWERS = "turns:\n  - {text: The answer is 42.}\n"


def test_the_clone_of_an_old_session_goes_with_its_streams(tmp_path: Path) -> None:
    with opened(tmp_path) as house:
        story = house.run(ANSWERS, task="What is the answer?")
    streams, clone = tmp_path / "sessions" / story.session.id, Path(story.session.workspace)
    (clone / "locked").mkdir(mode=0o500)
    with opened(tmp_path):
        assert clone.exists()
    at = time.time() - 100 * 86_400
    for path in (*streams.iterdir(), streams):
        os.utime(path, (at, at))
    with opened(tmp_path):
        assert not streams.exists()
        assert not clone.parent.exists()


def test_the_engine_forgets_what_ended_long_ago_and_the_session_stays_known(tmp_path: Path) -> None:
    with opened(tmp_path) as house:
        story = house.run(ANSWERS, task="What is the answer?")
        assert house.engine.status(story.session.job) is not None
    (engine,) = tmp_path.glob("*engine*.db")
    long_ago = int((time.time() - 40 * 86_400) * 1000)
    with closing(sqlite3.connect(engine)) as connection:
        names = {row[1] for row in connection.execute("pragma table_info(workflow_status)")}
        times = [name for name in ("created_at", "updated_at", "completed_at", "started_at_epoch_ms") if name in names]
        assert times
        connection.execute(f"update workflow_status set {', '.join(f'{name} = {long_ago}' for name in times)}")
        connection.commit()
    with opened(tmp_path) as house:
        assert house.engine.status(story.session.job) is None
        assert house.story(story.session.id).session.delivery == "accepted"
