"""Is a failure stated, as of now? The nearest words that state none stand beside those that do."""

from __future__ import annotations

import pytest

from touchline.supervision.failing import TESTS, admits_failure, fails_in
from touchline.supervision.prose import read


@pytest.mark.parametrize(
    "text",
    [
        "39 passed, 3 failed.",
        "Three old tests still fail.",
        "The other two fail because the network is down.",
        "All tests pass except for 2 pre-existing failures.",
        "There are 4 failing tests.",
        "9 passed, 3 failed tests",
        "2 failures remain.",
        "The unit tests pass, but the integration tests do not.",
        "Two tests are failing on the runner.",
        "When I run the suite, 3 tests fail.",
        "The build is broken.",
        "`npm test` fails with a time-out.",
        "The login still fails.",
        "Not all of the tests pass.",
        "Note that some tests fail on this machine.",
        "12 tests, 3 of which fail.",
    ],
)
def test_a_failure_is_stated(text: str) -> None:
    assert admits_failure(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "12 passed, 0 failed.",
        "Fixed the 3 failing tests.",
        "I fixed the failing test in `src/a.py`.",
        "Added a retry for failed requests.",
        "Before: 3 failed.",
        "Before the fix, 3 tests failed; now all 12 pass.",
        "| before | 3 failed |",
        "## Before\n3 failed",
        "No tests fail any more.",
        "Why did it fail?",
        "Which tests fail?",
        "The new test fails without the fix and passes with it.",
        "The new test fails on main.",
        "The test would fail if the lock were dropped.",
        "Fixed 3 failures.",
        "The 3 failures came from a stale cache.",
        "3 failing tests now pass.",
        "We went from 3 failures to none.",
        "When it fails, the user sees a message.",
        "`Cache.get` fails on a closed store.",
        "3 tests were failing.",
        "First run: 3 failed.",
        "Reproduced it first (3 failed), then fixed it.",
    ],
)
def test_failure_words_that_state_none(text: str) -> None:
    assert not admits_failure(read(text))


def test_a_failing_linter_says_nothing_about_the_tests() -> None:
    prose = read("All tests pass, but the linter fails.")
    assert fails_in(prose, prose.sentences[0])
    assert not fails_in(prose, prose.sentences[0], TESTS)
