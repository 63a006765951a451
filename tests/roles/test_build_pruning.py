"""What old builds left on the disk goes when a process begins; what may still be wanted stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.cli.command import started
from tests.roles.yard import Yard, code_turns, opened, task, waits_for, writes

from touchline.roles.build.controlling import resume_build
from touchline.roles.build.pruning import prune_builds
from touchline.roles.specification.task import TaskAction
from touchline.sessions.room import current_room

pytestmark = pytest.mark.timeout(120)


def built(yard: Yard, file: str) -> Path:
    """The folder of a build that is complete."""
    id = yard.start((task("T-001", file),), code_turns("T-001", *writes(file)), plan=False)
    build = yard.end(id)
    assert build.head_commit, build.detail
    return Path(build.workshop).parent


def aged(folder: Path, days: float = 100) -> None:
    at = time.time() - days * 86_400
    for path in (*folder.iterdir(), folder):
        os.utime(path, (at, at))


def test_what_ended_long_ago_goes_when_a_process_begins_and_is_not_gone_on_with(tmp_path: Path) -> None:
    with opened(tmp_path) as yard:
        failed = yard.start((task("T-001", "", check="false", action=TaskAction.VERIFY),), "")
        old, new = Path(yard.end(failed).workshop).parent, built(yard, "new.py")
    aged(old)
    with opened(tmp_path) as yard:
        assert (old.exists(), new.exists()) == (False, True)
        resume_build(yard.engine, yard.database, failed)
        build = yard.end(failed)
        assert (build.status, build.reason) == ("failed", "environment")
        assert "is gone" in build.detail
        assert not old.exists(), "an empty one would have lost what was finished before"
    aged(new)
    worker = started("worker", "--database", tmp_path / "app.db", HOME=str(tmp_path / "home"))
    try:
        yard.until(lambda: not new.exists(), "a worker is such a process, too")
    finally:
        worker.terminate()
        worker.communicate(timeout=60)


def test_neither_what_runs_nor_what_nobody_has_taken_yet_is_removed_for_its_size(tmp_path: Path) -> None:
    with opened(tmp_path) as yard:
        taken, waiting = built(yard, "taken.py"), built(yard, "waiting.py")
        yard.git("pull", "--quiet", "--ff-only", str(taken / "workshop.git"), "build")
        go = yard.meeting() / "go"
        id = yard.start((task("T-001", "runs.py"),), code_turns("T-001", waits_for(go), *writes("runs.py")), plan=False)
        yard.until(lambda: yard.build(id).workshop, "it runs")
        running = Path(yard.build(id).workshop).parent
        aged(running)
        assert prune_builds(current_room()) == ()
        assert prune_builds(current_room(), most=1) == (taken.name,)
        assert [folder.exists() for folder in (taken, waiting, running)] == [False, True, True]
        go.touch()
        assert yard.end(id).head_commit
