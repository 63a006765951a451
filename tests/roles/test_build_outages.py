"""What fails by something outside of the work: waited out a few times, never for ever, and never an attempt."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.postgres import PostgresServer, find_binaries
from tests.roles.yard import code_turns, opened, sh, task, waits_for, writes

from touchline.roles.build.failures import BACK_OFF, Failure, back_off, classify_failure
from touchline.roles.build.rows import TaskRow
from touchline.roles.build.scheduling import decision_for
from touchline.roles.build.states import State
from touchline.roles.specification.task import TaskAction
from touchline.store.place import Place
from touchline.supervision.limits import LIMITS

AWAY = "npm ERR! network ECONNRESET"
ROW = TaskRow(
    id="task_1",
    build_id="build_1",
    task=task("T-001", "a.py", status="failed"),
    state=State.ERROR,
    origin=None,
    reason="transient",
    attempts=1,
    plan="",
    lesson="",
    data={},
)


def after(*reasons: str, before: int = 0) -> TaskRow:
    """A task whose runs ended so, one after the other."""
    failures = [{"attempt": 1, "run": n, "reason": reason, "detail": AWAY} for n, reason in enumerate(reasons, 1)]
    ended = {"how": "failed", "reason": reasons[-1], "detail": AWAY}
    return replace(ROW, data={"failures": failures, "ended": ended, "runs_before": before})


def test_an_outage_is_waited_out_a_few_times_and_then_shown_to_a_person() -> None:
    decided = [decision_for(after(*["transient"] * n), may_install=False) for n in range(1, len(BACK_OFF) + 2)]
    assert [each.then for each in decided] == ["back_off"] * len(BACK_OFF) + ["escalate"]
    assert not any(each.counts for each in decided)


def test_only_outages_in_a_row_are_counted_and_a_person_begins_anew() -> None:
    assert after("transient", "validation", "transient").outages == 1
    assert after(*["transient"] * 7, before=7).outages == 0


def test_the_waits_grow_and_are_shortened_in_rehearsals() -> None:
    assert [back_off(LIMITS, n) for n in range(len(BACK_OFF))] == list(BACK_OFF)
    assert back_off(LIMITS, 99) == BACK_OFF[-1]
    assert back_off(replace(LIMITS, retry_delays=(0.5,)), 1) == pytest.approx(1.5)


@pytest.mark.parametrize(
    "output",
    [
        "FAILED test_api.py::test_rate_limit\nAssertionError: rate limited\n1 failed, 3 passed in 0.10s",
        "ERROR: connection lost (ETIMEDOUT)\nRan 4 tests in 0.1s\n\nFAILED (failures=1)",
    ],
)
def test_a_failing_test_about_limits_is_no_outage(output: str) -> None:
    assert classify_failure(output, exit_code=1, checked=True) is Failure.VALIDATION
    assert classify_failure(AWAY, exit_code=1, checked=True) is Failure.TRANSIENT


@pytest.mark.timeout(120)
def test_a_check_that_the_network_failed_is_run_again_and_was_no_attempt(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    check = f"echo run >> {runs}; test $(wc -l < {runs}) -ge 3 || {{ echo '{AWAY}'; exit 1; }}"
    with opened(tmp_path) as yard:
        build = yard.end(yard.start((task("T-001", "", check=check, action=TaskAction.VERIFY),), ""))
        row = yard.tasks(build.id)["T-001"]
        assert (build.status, row.task.status, row.attempts) == ("complete", "complete", 1), build.detail
        events = yard.events(build.id, "task.retry", "task.started")
    assert len(runs.read_text().splitlines()) == 3
    reasons = [event.payload["reason"] for event in events if event.type == "task.retry"]
    assert reasons == ["transient", "transient"]
    begun = [event.at for event in events if event.type == "task.started"]
    assert datetime.fromisoformat(row.data["rests_until"]) <= begun[-1], "it was not begun before its time"


@pytest.mark.timeout(240)
def test_a_database_that_is_restarted_ends_no_task(tmp_path: Path) -> None:
    """One task waits for its agent, the other's check runs, and the build waits for both."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed; scripts/test-tools installs it")
    go = tmp_path / "go"
    check = f"touch {tmp_path}/checks; until test -e {go}; do sleep 0.1; done"
    script = code_turns("T-001", sh(f"touch {tmp_path}/begun"), waits_for(go), *writes("f.py"))
    tasks = (task("T-001", "f.py"), task("T-002", "", check=check, action=TaskAction.VERIFY))
    # A server of its own: others would not like it to be restarted.
    with (
        tempfile.TemporaryDirectory(prefix="touchline-postgres-") as folder,
        PostgresServer(binaries, Path(folder)) as server,
        opened(tmp_path, place=Place(url=server.url(), origin="given")) as yard,
    ):
        id = yard.start(tasks, script, plan=False)
        yard.until((tmp_path / "begun").exists, "the agent works")
        yard.until((tmp_path / "checks").exists, "the check runs")
        server.stop()
        time.sleep(3)  # everybody looks at least once a second
        server.start()
        go.touch()
        build = yard.end(id, seconds=180)
        rows = yard.tasks(id)
        told = [event.payload for event in yard.events(id, "task.failed", "task.retry")]
    assert {name: (row.task.status, row.attempts) for name, row in rows.items()} == {
        "T-001": ("complete", 1),
        "T-002": ("complete", 1),
    }, build.detail
    assert told == []
