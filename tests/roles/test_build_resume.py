"""What ended goes on when somebody says so, once, from that moment; and never by itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.roles.yard import Yard, opened, task

from touchline.errors import BuildError
from touchline.roles.build.controlling import resume_build
from touchline.roles.build.reconciling import reconcile_builds
from touchline.roles.specification.task import TaskAction
from touchline.sessions.room import current_room
from touchline.store.columns import now

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def checked_by(yard: Yard, check: str) -> str:
    return yard.start((task("T-001", "", check=check, action=TaskAction.VERIFY),), "")


def job_ended(yard: Yard, id: str) -> bool:
    job = yard.engine.status(yard.build(id).job)
    return job is not None and job.state.ended


def test_a_resumed_build_runs_at_once_and_is_not_resumed_twice(yard: Yard) -> None:
    go = yard.meeting() / "go"
    id = checked_by(
        yard, f"for i in $(seq 300); do test -e {go} && break; test -e {go}.wait || exit 1; sleep 0.1; done"
    )
    assert yard.end(id).reason == "tasks_open"
    go.with_suffix(".wait").touch()
    resume_build(yard.engine, yard.database, id)
    assert (yard.build(id).status, yard.build(id).ended_at) == ("running", None), "also before its workflow begins"
    with pytest.raises(BuildError, match="is running"):
        resume_build(yard.engine, yard.database, id)
    go.touch()
    assert yard.end(id).status == "complete"
    assert yard.build(id).runs == 2


def test_a_build_that_ended_long_ago_does_not_begin_again_by_itself(yard: Yard) -> None:
    id = checked_by(yard, "false")
    yard.end(id)
    resume_build(yard.engine, yard.database, id)
    yard.until(lambda: yard.build(id).ended and job_ended(yard, id), "it ends again")
    yard.engine.forget(now() + timedelta(days=1))
    assert yard.engine.status(yard.build(id).job) is None, "as after a month"
    assert reconcile_builds(yard.engine, current_room()).started == ()
    assert (yard.build(id).status, yard.build(id).runs) == ("failed", 2)


def test_a_build_that_could_not_be_primed_goes_on_when_the_reason_is_gone(yard: Yard) -> None:
    away = Path(f"{yard.repo}-away")
    yard.repo.rename(away)
    try:
        id = checked_by(yard, "test -f README.md")
        build = yard.end(id)
        assert (build.status, build.reason, build.workshop) == ("failed", "environment", "")
    finally:
        away.rename(yard.repo)
    resume_build(yard.engine, yard.database, id)
    build = yard.end(id)
    assert (build.status, build.reason) == ("complete", "completed"), build.detail
    assert build.base_commit == yard.git("rev-parse", "HEAD")
