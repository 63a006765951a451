"""Which phase a task is in, and what that phase demands."""

from __future__ import annotations

import pytest

from touchline.supervision.evidence import Command, Commit, Ledger, TestRun, Write
from touchline.supervision.phases import Phase, missing_evidence, phase_of, phases


@pytest.mark.parametrize(
    ("task", "workflow", "expected"),
    [
        ("/do-build the search page", None, "build"),
        ("please run /do-test, then report", None, "test"),
        ("/do-docs", None, "document"),
        ("/do-plan first and /do-build after", None, "plan"),
        ("first /do-build then /do-plan", None, "build"),
        ("build the search page", "test", "test"),
        ("/do-plan", "test", "plan"),
        ("/do-planning notes", None, None),
        ("see docs/do-plan/index", None, None),
        ("build the search page", None, None),
        ("anything", "unheard-of", None),
    ],
)
def test_phase_of_a_task(task: str, workflow: str | None, expected: str | None) -> None:
    found = phase_of(task, workflow)
    assert (found.name if found else None) == expected


def test_build_lacks_everything_at_first_and_nothing_at_last() -> None:
    build = phases()["build"]
    assert len(missing_evidence(build, Ledger())) == 3
    full = Ledger(
        test_runs=(TestRun(runner="pytest", call=1, passed=4, failed=0, exit_code=0, outcome="passed"),),
        commits=(Commit(hash="abc1234", call=2),),
        pull_requests=("https://example.org/pull/1",),
    )
    assert missing_evidence(build, full) == ()


def test_a_failed_run_is_no_passing_run_but_has_counts() -> None:
    ledger = Ledger(test_runs=(TestRun(runner="pytest", call=1, passed=3, failed=1, outcome="failed"),))
    assert missing_evidence(phases()["build"], ledger)[0] == "a test run that passes"
    assert missing_evidence(phases()["test"], ledger) == ("the coverage of that test run",)


def test_coverage_is_seen_in_the_command() -> None:
    command = Command(text="pytest --cov=shop", call=1, kinds=frozenset({"test"}), exit_code=0, failed=False)
    run = TestRun(runner="pytest", call=1, passed=3, failed=0, outcome="passed")
    assert missing_evidence(phases()["test"], Ledger(commands=(command,), test_runs=(run,))) == ()


@pytest.mark.parametrize(("path", "ok"), [("docs/guide.md", True), ("src/app.py", False), ("README.rst", True)])
def test_document_wants_a_document(path: str, ok: bool) -> None:
    ledger = Ledger(writes=(Write(path=path, call=0, how="tool"),))
    assert (missing_evidence(phases()["document"], ledger) == ()) is ok


def test_a_caller_can_bring_phases_of_its_own() -> None:
    own = {"ship": Phase(name="ship", trigger="/ship", needs=("commit",), hint="the tag")}
    found = phase_of("now /ship it", known=own)
    assert found is not None
    assert missing_evidence(found, Ledger()) == ("a commit",)
