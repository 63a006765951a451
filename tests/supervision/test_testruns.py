"""What test runners print, and what a run proves."""

# ruff: noqa: E501  (runners print long lines)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.testruns import Counts, counts_of, outcome_of

Expected = tuple[str, int | None, int | None, int | None, int | None]


def short(counts: Counts | None) -> Expected | None:
    if counts is None:
        return None
    return counts.runner, counts.passed, counts.failed, counts.skipped, counts.collected


OUTPUTS: list[tuple[str, str, Expected]] = [
    ("pytest", "....\n============ 4 passed in 0.31s ============\n", ("pytest", 4, 0, 0, 4)),
    ("pytest", "..F.s\n1 failed, 3 passed, 1 skipped in 1.20s\n", ("pytest", 3, 1, 1, 5)),
    ("pytest", "=== 2 failed, 7 passed, 1 xfailed, 1 xpassed, 3 warnings, 1 error in 65.02s (0:01:05) ===\n",
     ("pytest", 8, 3, 1, 12)),
    ("pytest", "======= 12 passed, 2 deselected in 0.05 seconds =======\n", ("pytest", 12, 0, 0, 12)),
    ("pytest", "======= no tests ran in 0.01s =======\n", ("pytest", 0, 0, 0, 0)),
    ("pytest", "3 deselected in 0.02s\n", ("pytest", 0, 0, 0, 0)),
    ("pytest", "!!!!! Interrupted: 2 errors during collection !!!!!\n2 errors in 0.40s\n", ("pytest", 0, 2, 0, 2)),
    ("pytest", "\x1b[32m\x1b[1m6 passed\x1b[0m\x1b[32m in 0.10s\x1b[0m\r\n", ("pytest", 6, 0, 0, 6)),
    ("unittest", "...\n------\nRan 3 tests in 0.004s\n\nOK\n", ("unittest", 3, 0, 0, 3)),
    ("unittest", "Ran 9 tests in 1.250s\n\nFAILED (failures=1, errors=2, skipped=3)\n", ("unittest", 3, 3, 3, 9)),
    ("unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", ("unittest", 0, 0, 0, 0)),
    ("manage test", "Found 2 test(s).\nRan 2 tests in 0.9s\n\nOK\nDestroying test database\n", ("unittest", 2, 0, 0, 2)),
    ("jest", "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 1 skipped, 14 passed, 16 total\nTime: 2 s\n",
     ("jest", 14, 1, 1, 16)),
    ("npm test", "> jest\n\nPASS src/a.test.js\nTests:       5 passed, 5 total\n", ("jest", 5, 0, 0, 5)),
    ("jest", "No tests found, exiting with code 1\n", ("jest", 0, 0, None, 0)),
    ("vitest", " Test Files  2 passed (2)\n      Tests  7 passed | 2 skipped (9)\n", ("vitest", 7, 0, 2, 9)),
    ("vitest", " Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n", ("vitest", 3, 1, 0, 4)),
    ("vitest", "No test files found, exiting with code 1\n", ("vitest", 0, 0, None, 0)),
    ("cargo test", "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\n"
     "   Doc-tests x\ntest result: ok. 4 passed; 0 failed; 0 ignored; 0 measured\n", ("cargo test", 6, 0, 1, 7)),
    ("cargo nextest", "     Summary [   0.9s] 8 tests run: 6 passed (1 slow), 2 failed, 3 skipped\n", ("nextest", 6, 2, 3, 11)),
    ("go test", "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\n    --- PASS: TestA/x (0.00s)\nPASS\n",
     ("go test", 1, 0, 1, 2)),
    ("go test", "?   \texample.com/x\t[no test files]\n", ("go test", 0, 0, None, 0)),
    ("mvn test", "[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.2 s - in AT\n"
     "[INFO] Results:\n[INFO] Tests run: 11, Failures: 1, Errors: 1, Skipped: 2\n", ("maven", 7, 2, 2, 11)),
    ("gradlew test", "14 tests completed, 2 failed, 1 skipped\n\nBUILD FAILED in 3s\n", ("gradle", 11, 2, 1, 14)),
    ("rspec", "Finished in 0.2 seconds\n12 examples, 1 failure, 2 pending\n", ("rspec", 9, 1, 2, 12)),
    ("rails test", "6 runs, 19 assertions, 1 failures, 0 errors, 1 skips\n", ("minitest", 4, 1, 1, 6)),
    ("phpunit", "OK (7 tests, 21 assertions)\n", ("phpunit", 7, 0, 0, 7)),
    ("phpunit", "FAILURES!\nTests: 7, Assertions: 20, Failures: 2, Skipped: 1.\n", ("phpunit", 4, 2, 1, 7)),
    ("phpunit", "No tests executed!\n", ("phpunit", 0, 0, None, 0)),
    ("ctest", "75% tests passed, 1 tests failed out of 4\n", ("ctest", 3, 1, 0, 4)),
    ("ctest", "No tests were found!!!\n", ("ctest", 0, 0, None, 0)),
    ("dotnet test", "Passed!  - Failed:     0, Passed:    18, Skipped:     2, Total:    20, Duration: 1 s - A.dll\n",
     ("dotnet test", 18, 0, 2, 20)),
    ("dotnet test", "Total tests: 5\n     Passed: 4\n     Failed: 1\n Total time: 2 Seconds\n", ("dotnet test", 4, 1, 0, 5)),
    ("node --test", "# tests 5\n# suites 1\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n",
     ("node --test", 4, 1, 0, 5)),
    ("node --test", "ℹ tests 3\nℹ suites 0\nℹ pass 3\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\n",
     ("node --test", 3, 0, 0, 3)),
    ("mocha", "  10 passing (31ms)\n  1 pending\n  2 failing\n\n  1) adds\n", ("mocha", 10, 2, 1, 13)),
    ("bats", "1..3\nok 1 starts\nnot ok 2 stops\nok 3 resumes\n", ("tap", 2, 1, 0, 3)),
    ("bats", " ✓ starts\n ✗ stops\n\n2 tests, 1 failure\n", ("bats", 1, 1, 0, 2)),
    ("bun test", " 4 pass\n 1 fail\nRan 5 tests across 2 files. [80.00ms]\n", ("bun test", 4, 1, 0, 5)),
    ("deno test", "ok | 6 passed | 0 failed | 1 ignored (22ms)\n", ("deno test", 6, 0, 1, 7)),
    ("swift test", "Test Suite 'All tests' passed.\n\t Executed 8 tests, with 1 failure (0 unexpected) in 0.2 seconds\n",
     ("swift test", 7, 1, 0, 8)),
    ("playwright test", "  1 failed\n    [chromium] › a.spec.ts:3:1 › opens ────\n  5 passed (4.2s)\n",
     ("playwright", 5, 1, 0, 6)),
    ("dotnet test", "Test summary: total: 12, failed: 1, succeeded: 10, skipped: 1, duration: 1.2s\n", ("dotnet test", 10, 1, 1, 12)),
    ("dotnet test", "Test run summary: Passed! - a.dll (net9.0|x64)\n  total: 12\n  failed: 0\n  succeeded: 12\n  skipped: 0\n  duration: 1s 20ms\n",
     ("dotnet test", 12, 0, 0, 12)),
    ("pest", "  Tests:    7 skipped, 167 passed (338 assertions)\n  Duration: 13.51s\n", ("pest", 167, 0, 7, 174)),
    ("pest", "  Tests:    1 failed, 2 todos, 4 passed (9 assertions)\n", ("pest", 4, 1, 2, 7)),
    ("swift test", "✔ Test run with 12 tests in 2 suites passed after 0.1 seconds.\n", ("swift test", 12, 0, 0, 12)),
    ("swift test", "✘ Test run with 4 tests in 1 suite failed after 0.1 seconds with 1 issue.\n", ("swift test", 3, 1, 0, 4)),
    ("swift test", "\t Executed 3 tests, with 0 failures (0 unexpected) in 0.0 seconds\n\t Executed 8 tests, with 0 failures (0 unexpected) in 0.1 seconds\n"
     "◇ Test run started.\n✔ Test run with 12 tests passed after 0.1 seconds.\n", ("swift test", 20, 0, 0, 20)),
    ("swift test", "\t Executed 8 tests, with 0 failures (0 unexpected) in 0.1 seconds\n✔ Test run with 0 tests passed after 0.001 seconds.\n",
     ("swift test", 8, 0, 0, 8)),
    ("sbt test", "[info] Passed: Total 12, Failed 0, Errors 0, Passed 12\n[success] Total time: 3 s\n", ("sbt", 12, 0, 0, 12)),
    ("sbt test", "[info] Passed: Total 5, Failed 0, Errors 0, Passed 5\n[error] Failed: Total 6, Failed 2, Errors 0, Passed 3, Ignored 1\n",
     ("sbt", 8, 2, 1, 11)),
    ("sbt test", "[info] Tests: succeeded 4, failed 1, canceled 0, ignored 1, pending 0\n[info] *** 1 TEST FAILED ***\n", ("scalatest", 4, 1, 1, 6)),
    ("flutter test", "00:01 +3: loading a_test.dart\r00:03 +12: All tests passed!          \n", ("flutter test", 12, 0, 0, 12)),
    ("flutter test", "07:49 +10 ~1 -2: Some tests failed.\n", ("flutter test", 10, 2, 1, 13)),
    ("dart test", "00:00 +0: No tests ran.\n", ("flutter test", 0, 0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("runner", "text", "expected"), OUTPUTS)
def test_summaries_are_read(runner: str, text: str, expected: Expected) -> None:
    assert short(counts_of(text, runner)) == expected


@pytest.mark.parametrize(("runner", "text", "expected"), OUTPUTS)
def test_a_summary_is_found_behind_any_script_name(runner: str, text: str, expected: Expected) -> None:
    assert short(counts_of("> project script\n" + text, "make test")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I think 12 passed in the end",
        "The suite has 4 tests and 1 failure mode",
        "passed: 3 of the checks",
        "error: test failed, to rerun pass `--lib`",
        "downloaded 3 packages in 0.5s",
    ],
)
def test_prose_is_no_summary(text: str) -> None:
    assert counts_of(text, "pytest") is None


def test_go_and_gradle_say_good_or_bad_without_counts() -> None:
    good = counts_of("ok  \texample.com/a\t0.012s\nok  \texample.com/b\t(cached)\n", "go test")
    bad = counts_of("ok  \texample.com/a\t0.012s\nFAIL\texample.com/b [build failed]\nFAIL\n", "go test")
    hollow = counts_of("ok  \texample.com/a\t0.01s [no tests to run]\n", "go test")
    built = counts_of("> Task :test\n\nBUILD SUCCESSFUL in 4s\n", "gradle test")
    idle = counts_of("> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n", "gradle test")
    assert good is not None
    assert (good.verdict, good.passed) == ("good", None)
    assert bad is not None
    assert bad.verdict == "bad"
    assert hollow is not None
    assert hollow.collected == 0
    assert built is not None
    assert built.verdict == "good"
    assert idle is not None
    assert idle.collected == 0


@pytest.mark.parametrize(
    ("runner", "text", "verdict"),
    [
        ("bazel test", "Executed 1 out of 1 test: 1 test passes.\n", "good"),
        ("bazel test", "Executed 0 out of 3 tests: 3 tests pass.\n", "good"),
        ("bazel test", "Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.\n", "bad"),
        ("bazel test", "Executed 0 out of 2 tests: 1 fails to build and 1 was skipped.\n", "bad"),
        ("bazel test", "Executed 0 out of 1 test: 1 was skipped.\n", None),
        ("cabal test", "1 of 1 test suites (1 of 1 test cases) passed.\n", "good"),
        ("cabal test", "0 of 1 test suites (0 of 1 test cases) passed.\n", "bad"),
        (
            "cabal test",
            "1 of 1 test suites (1 of 1 test cases) passed.\n1 of 2 test suites (1 of 2 test cases) passed.\n",
            "bad",
        ),
        ("nx run-many", "Tests: 5 passed, 5 total\n\n NX   Successfully ran target test for 3 projects (4s)\n", "good"),
        ("nx test", " NX   Successfully ran targets lint, test for project auth\n", "good"),
        (
            "nx run-many",
            " NX   Ran target test for 3 projects (4s)\n\n    ✔    2/3 succeeded\n    ✖    1/3 targets failed\n",
            "bad",
        ),
        ("nx test", " NX   Running target test for project auth failed\n", "bad"),
        ("turbo test", " Tasks:    2 successful, 2 total\nCached:    0 cached, 2 total\n", "good"),
        ("turbo test", " Tasks:    1 successful, 2 total\nFailed:    web#test\n", "bad"),
        ("turbo test", " Tasks:    0 successful, 0 total\n", None),
        ("xcodebuild test", "** TEST SUCCEEDED **\n", "good"),
        ("xcodebuild test", "** TEST FAILED **\n", "bad"),
    ],
)
def test_runners_that_count_targets_say_only_good_or_bad(runner: str, text: str, verdict: str | None) -> None:
    counts = counts_of(text, runner)
    assert counts is not None
    assert counts.verdict == verdict
    assert counts.passed is None or counts.collected == 0


def test_what_nx_did_to_other_targets_tells_nothing_of_tests() -> None:
    assert counts_of(" NX   Successfully ran target lint for 3 projects\n", "nx run-many") is None


def test_sbt_that_failed_elsewhere_is_no_pass() -> None:
    text = (
        "[info] Passed: Total 9, Failed 0, Errors 0, Passed 9\n[error] (core/Test/test) sbt.TestsFailedException: no\n"
    )
    counts = counts_of(text, "sbt test")
    assert counts is not None
    assert counts.verdict == "bad"


def test_two_runs_in_one_line_are_added_and_an_older_summary_is_not() -> None:
    text = "==== 3 passed in 0.1s ====\nnoise\n==== 4 passed in 0.1s ====\n"
    assert short(counts_of(text, "pytest", 2)) == ("pytest", 7, 0, 0, 7)
    assert short(counts_of(text, "pytest", 1)) == ("pytest", 4, 0, 0, 4)


def test_only_the_end_of_a_long_output_is_read() -> None:
    text = "9 failed in 1.0s\n" + "x" * 30_000 + "\n2 passed in 0.1s\n"
    assert short(counts_of(text, "pytest")) == ("pytest", 2, 0, 0, 2)


def run(
    passed: int | None = None, failed: int | None = None, collected: int | None = None, skipped: int | None = 0
) -> Counts:
    return Counts(runner="pytest", passed=passed, failed=failed, skipped=skipped, collected=collected)


@pytest.mark.parametrize(
    ("counts", "code", "failed", "text", "outcome"),
    [
        (run(3, 0, 3), 0, False, "", "passed"),
        (run(3, 0, 3), None, False, "", "passed"),
        (None, 0, False, "", "passed"),
        (Counts(runner="go test", verdict="good"), None, False, "", "passed"),
        (run(3, 1, 4), 1, True, "", "failed"),
        (run(3, 1, 4), 0, False, "", "failed"),
        (run(3, 1, 4), None, False, "", "failed"),
        (run(3, 0, 3), 1, True, "coverage too low", "failed"),
        (None, 1, True, "AssertionError", "failed"),
        (Counts(runner="go test", verdict="bad"), 0, False, "", "failed"),
        (run(0, 0, 0), 0, False, "", "unverified"),
        (run(0, 0, 0), 5, True, "", "unverified"),
        (run(0, 0, 4, 4), 0, False, "", "unverified"),
        (None, None, False, "", "unverified"),
        (None, None, True, "permission denied", "unverified"),
        (run(3, 0, 3), None, True, "", "unverified"),
        (None, 124, True, "", "unverified"),
        (None, 127, True, "pytest: command not found", "unverified"),
        (None, 1, True, "/usr/bin/python: No module named pytest", "unverified"),
        (None, -1, True, "", "unverified"),
    ],
)
def test_what_a_run_proves(counts: Counts | None, code: int | None, failed: bool, text: str, outcome: str) -> None:
    assert outcome_of(counts, code, failed=failed, text=text) == outcome


@given(st.text(max_size=400), st.sampled_from(["pytest", "go test", "mocha", "npm test", ""]))
def test_any_output_is_read_without_an_error(text: str, runner: str) -> None:
    counts = counts_of(text, runner)
    assert counts is None or (counts.passed or 0) <= (counts.collected or 0) or counts.verdict is not None


@pytest.mark.parametrize("piece", ["\n", " ", "1 passed, ", "1 failed\n", "# pass 1\n", "ok 1\n", "Ran 1 test in 1s\n\n", "=",
                                   " 1 passing\n", "Tests: 1", "Total tests: 1\n Passed: 1\n", "--- PASS: a\n",
                                   "Test run with 1", "00:01 +1", "Ran target test ", "total: 1\n"])  # fmt: skip
@pytest.mark.timeout(30)  # quadratic, it would take minutes
def test_hostile_output_is_read(piece: str) -> None:
    for runner in ("pytest", "mocha", "dotnet test", "node --test", "swift test", "nx test"):
        counts = counts_of(
            " in Ran Tests: tests run: example 1 pass\n passing Executed ok 1 # pass Total tests: Test run with Ran target succeeded: : Total Tasks: ests passed! assertion"
            + piece * 9_000,
            runner,
        )
        assert counts is None or (counts.collected or 0) >= 0
