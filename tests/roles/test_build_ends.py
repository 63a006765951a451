"""The end of a build: it can be stopped while the whole is validated, says what failed, and goes on when mended."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.roles.yard import Yard, code_turns, opened, sh, task, waits_for, writes

from touchline.errors import SpecError
from touchline.roles.build.controlling import resume_build, want
from touchline.roles.specification.task import TaskAction
from touchline.sessions.records import turns_of_session

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("build-ends")]
SLOW = "touch {here}/begun; for i in $(seq 600); do test -e {here}/go && break; sleep 0.1; done; echo '1 passed'"
ADDED = """
```yaml
id: T-002
title: Make mended.txt
phase: services
action: CREATE
file: mended.txt
status: pending
requirements: ["mended.txt exists"]
satisfies: [FR-001]
validation: {command: test -f mended.txt}
```
"""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def being_validated(yard: Yard, file: str, **settings: Any) -> tuple[str, Path]:
    here = yard.meeting()
    commands = {"unit": SLOW.format(here=here)}
    id = yard.start(
        (task("T-001", file),), code_turns("T-001", *writes(file)), plan=False, commands=commands, **settings
    )
    yard.until((here / "begun").exists, "the whole is validated")
    return id, here


def test_a_build_is_stopped_while_the_whole_is_validated_and_can_go_on(yard: Yard) -> None:
    id, here = being_validated(yard, "stopped.py")
    want(yard.database, id, "stop")
    build = yard.end(id, seconds=30)
    assert (build.status, build.reason, build.result.get("validation")) == ("stopped", "stop_requested", None)
    (here / "go").touch()
    resume_build(yard.engine, yard.database, id)
    assert yard.end(id).status == "complete"
    assert yard.tasks(id)["T-001"].attempts == 1


def test_a_build_may_be_stopped_in_the_same_session_more_than_once(yard: Yard) -> None:
    here = yard.meeting()
    begins = sh(f"echo >> {here}/begun")
    script = code_turns("T-001", begins, waits_for(here / "go"), begins, waits_for(here / "go"), *writes("twice.py"))
    id = yard.start((task("T-001", "twice.py"),), script, plan=False)
    for times in (1, 2):
        yard.until(partial(works, yard, id, times, here / "begun"), "the agent works")
        want(yard.database, id, "stop")
        assert yard.end(id).reason == "stop_requested"
        resume_build(yard.engine, yard.database, id)
    (here / "go").touch()
    build = yard.end(id)
    assert build.status == "complete", build.detail
    assert (yard.tasks(id)["T-001"].attempts, len(yard.tasks(id)["T-001"].sessions)) == (1, 1)


def works(yard: Yard, id: str, turns: int, begun: Path) -> bool:
    """Whether the agent works in so many turns of its session."""
    with yard.database.reading() as connection:
        made = sum(len(turns_of_session(connection, session)) for session in yard.tasks(id)["T-001"].sessions)
    return made >= turns and begun.exists()


def test_the_time_limit_holds_while_the_whole_is_validated(yard: Yard) -> None:
    """The task is done long before the limit."""
    begun = time.monotonic()
    id, _ = being_validated(yard, "slow.py", max_seconds=20.0)
    build = yard.end(id)
    assert (build.status, build.reason) == ("stopped", "time_limit"), (build.detail, time.monotonic() - begun)


def failed_as_a_whole(yard: Yard, file: str) -> str:
    script = code_turns("T-001", *writes(file)) + code_turns("T-002", *writes("mended.txt"))
    lint = "test -f mended.txt || { echo looking; echo mended.txt is missing; exit 3; }"
    id = yard.start((task("T-001", file),), script, plan=False, commands={"lint": lint})
    build = yard.end(id)
    assert (build.status, build.reason) == ("failed", "validation_failed"), build.detail
    return id


def test_a_failed_validation_is_told_and_mended_by_a_task_that_a_person_adds(yard: Yard) -> None:
    id = failed_as_a_whole(yard, "whole.py")
    path = yard.tasks_file(id)
    detail = yard.build(id).detail
    for words in ("lint (test -f mended.txt ||", "Exit code 3.", "mended.txt is missing", str(path)):
        assert words in detail
    path.write_text(path.read_text().replace("## Execution log", f"{ADDED}\n## Execution log"))
    resume_build(yard.engine, yard.database, id)
    build = yard.end(id)
    assert build.status == "complete", build.detail
    assert {name: row.task.status for name, row in yard.tasks(id).items()} == {"T-001": "complete", "T-002": "complete"}
    assert yard.tasks(id)["T-001"].attempts == 1, "what was complete was not done again"


def test_what_is_added_must_be_sound_and_a_removed_file_adds_nothing(yard: Yard) -> None:
    id = failed_as_a_whole(yard, "unsound.py")
    path = yard.tasks_file(id)
    text = path.read_text()
    path.write_text(text.replace("## Execution log", f"{ADDED.replace('FR-001', 'FR-009')}\n## Execution log"))
    with pytest.raises(SpecError, match="FR-009"):
        resume_build(yard.engine, yard.database, id)
    assert yard.build(id).runs == 1
    path.unlink()
    resume_build(yard.engine, yard.database, id)
    assert yard.end(id).reason == "validation_failed"


def test_a_limit_that_was_raised_lets_a_build_go_on_with_its_open_tasks_alone(yard: Yard) -> None:
    tasks = (task("T-001", "dear_1.py"), task("T-002", "dear_2.py"))
    script = "".join(code_turns(each.id, *writes(each.file)) for each in tasks)
    id = yard.start(tasks, script, plan=False, parallel=1, tokens=2_000)
    build = yard.end(id)
    assert build.reason == "budget"
    more = replace(build.settings, tokens=1_000_000)
    resume_build(yard.engine, yard.database, id, retry=False, settings=more)
    build = yard.end(id)
    assert (build.status, build.reason) == ("complete", "completed"), build.detail


def test_a_machine_that_was_mended_lets_a_build_go_on_with_its_open_tasks_alone(yard: Yard) -> None:
    mended = yard.meeting() / "mended"
    full = f"test -e {mended} || {{ echo 'No space left on device'; exit 1; }}"
    tasks = (
        task("T-001", "", check="false", action=TaskAction.VERIFY),
        task("T-002", "", check=full, action=TaskAction.VERIFY),
    )
    id = yard.start(tasks, "", parallel=1)
    assert yard.end(id).reason == "environment"
    mended.touch()
    resume_build(yard.engine, yard.database, id, retry=False)
    assert yard.end(id).reason == "tasks_open"
    rows = yard.tasks(id)
    assert {name: row.task.status for name, row in rows.items()} == {"T-001": "failed", "T-002": "complete"}
    assert rows["T-001"].number == 1, "what failed by itself was left alone"
