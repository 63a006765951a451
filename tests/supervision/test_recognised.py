"""An edit, a check in one of its many guises, then "All 12 tests pass.": what is accepted, and what is sent back."""

from __future__ import annotations

import pytest
from tests.supervision.test_ledger import Did, edit, sh, turn_of

from touchline.supervision.ledger import ledger_of
from touchline.supervision.stop import classify
from touchline.supervision.stops import Standing, Stop

PYTEST = "===== 12 passed in 0.2s ====="
CLAIM = "All 12 tests pass."


def stop_after(*did: Did, said: str = CLAIM, failed: frozenset[int] = frozenset()) -> Stop:
    done = ledger_of(turn_of(edit("/repo/a.py"), *did, failed=frozenset(at + 1 for at in failed), cli="claude"))
    return classify(said, ledger=done, task="Fix the bug in a.py")


def standing(stop: Stop) -> Standing:
    return stop.claims[0].standing


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("docker compose -f dev.yml run --rm app pytest", PYTEST),
        ("docker-compose -f x exec -T app pytest", PYTEST),
        ("kubectl exec pod -- pytest", PYTEST),
        ("ssh host 'cd app && pytest' | tail -1", PYTEST),
        ("bazel test //...", "Executed 1 out of 1 test: 1 test passes.\n"),
        ("bazelisk test //... 2>&1 | tail -1", "Executed 1 out of 1 test: 1 test passes.\n"),
        ("dotnet test | tail -3", "Test summary: total: 12, failed: 0, succeeded: 12, skipped: 0, duration: 1.2s"),
        ("./vendor/bin/pest | tail", "  Tests:    12 passed (20 assertions)\n"),
        ("swift test 2>&1 | tail -3", "✔ Test run with 12 tests passed after 0.1 seconds."),
        ("sbt test | tail", "[info] Passed: Total 12, Failed 0, Errors 0, Passed 12"),
        ("flutter test | tail -1", "00:03 +12: All tests passed!"),
        ("cabal test | tail", "1 of 1 test suites (1 of 1 test cases) passed."),
        ("nx run-many -t test | tail", " NX   Successfully ran target test for 3 projects"),
        ("cargo make test", ""),
        ("cargo xtask test", ""),
        ("./ci.sh", PYTEST),
    ],
)
def test_a_passing_run_is_accepted(line: str, text: str) -> None:
    stop = stop_after(sh(line, text, None))
    assert (stop.rejected, standing(stop)) == ((), Standing.PROVED)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("docker compose -f dev.yml run --rm app pytest | tail -1", "== 2 failed, 10 passed in 0.2s =="),
        ("ssh host 'cd app && pytest' | tail -1", "== 2 failed, 10 passed in 0.2s =="),
        ("bazel test //... | tail", "Executed 2 out of 2 tests: 1 test passes and 1 fails locally.\n"),
        ("dotnet test | tail -3", "Test summary: total: 12, failed: 1, succeeded: 11, skipped: 0, duration: 1.2s"),
        ("./vendor/bin/pest | tail", "  Tests:    1 failed, 11 passed (20 assertions)\n"),
        ("swift test 2>&1 | tail -3", "✘ Test run with 12 tests failed after 0.1 seconds with 1 issue."),
        ("sbt test | tail", "[error] Failed: Total 12, Failed 1, Errors 0, Passed 11"),
        ("flutter test | tail -1", "00:03 +10 -2: Some tests failed."),
        ("cabal test | tail", "0 of 1 test suites (0 of 1 test cases) passed."),
        ("nx run-many -t test | tail", " NX   Ran target test for 3 projects\n    ✖    1/3 targets failed\n"),
        ("./ci.sh | tail -1", "== 2 failed, 10 passed in 0.2s =="),
    ],
)
def test_a_failing_run_contradicts(line: str, text: str) -> None:
    stop = stop_after(sh(line, text, None))
    assert ("contradicted_claim" in stop.rejected, standing(stop)) == (True, Standing.CONTRADICTED)


@pytest.mark.parametrize("line", ["scripts/ci", "./ci.sh", "bin/ci", "bash ci.sh; true", "make ci", "npm run ci"])
def test_a_script_named_ci_may_be_the_tests(line: str) -> None:
    stop = stop_after(sh(line, "fine", None))
    assert (stop.rejected, standing(stop)) == ((), Standing.UNPROVED)


@pytest.mark.parametrize("line", ["./ci/release", "./cite.sh", "./upload-ci-cache"])
def test_a_script_that_only_has_ci_in_its_name_is_not_taken_for_the_tests(line: str) -> None:
    assert stop_after(sh(line, "fine", None)).rejected == ("unproved_claim",)


@pytest.mark.parametrize(
    "line",
    [
        f"echo '{PYTEST}'",
        "cat test.log",
        "python3 -c \"print('12 passed in 0.2s')\"",
        f"ssh host \"echo '{PYTEST}'\"",
        "ssh host cat test.log",
        "kubectl exec pod -- cat test.log",
        "docker compose -f dev.yml exec app cat test.log",
        "docker compose -f dev.yml logs app",
        f"cargo make docs; echo '{PYTEST}'",
        f"./ci.sh > out.txt 2>&1; echo '{PYTEST}'",
        "nx run-many -t test >/dev/null 2>&1; echo ' NX   Successfully ran target test for 3 projects'",
    ],
)
def test_words_that_were_only_printed_prove_nothing(line: str) -> None:
    text = " NX   Successfully ran target test for 3 projects\n" if "nx " in line else PYTEST
    assert standing(stop_after(sh(line, text, None))) is Standing.UNPROVED
