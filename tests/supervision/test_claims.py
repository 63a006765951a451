"""Claims and hedges as spans: what is claimed, and what only looks like it."""

from __future__ import annotations

import pytest

from touchline.supervision.claims import claims_in, hedges_in, is_partial
from touchline.supervision.prose import read


def kinds(text: str) -> set[str]:
    return {c.what for c in claims_in(read(text))}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("All 42 tests passed.", "tests_pass"),
        ("Fixed the crash, 42 passed.", "tests_pass"),
        ("0 errors, 0 failed", "tests_pass"),
        ("The test suite is green.", "tests_pass"),
        ("`cargo test` passes.", "tests_pass"),
        ("Fixed the 3 failing tests; all tests pass.", "tests_pass"),
        ("Before the fix, 3 tests failed; now all 12 pass.", "tests_pass"),
        ("After the fix: 12 passed, 0 failed.", "tests_pass"),
        ("No tests fail any more.", "tests_pass"),
        ("All tests pass, but the linter fails.", "tests_pass"),
        ("I did it.", "implemented"),
        ("0 errors, 0 failed", "checks_pass"),
        ("The build succeeds and mypy is clean.", "checks_pass"),
        ("`make lint` passes.", "checks_pass"),
        ("Fixed the crash, 42 passed.", "fixed"),
        ("The import no longer fails.", "fixed"),
        ("I've added the retry loop.", "implemented"),
        ("Added the retry loop.", "implemented"),
        ("Done.", "implemented"),
        ("The migration is complete.", "implemented"),
        ("I verified it by hand.", "verified"),
        ("The change is committed.", "committed"),
        ("Pushed to the branch.", "pushed"),
        ("I opened a pull request.", "pr_opened"),
        ("I opened the PR.", "pr_opened"),
        ("Created `src/cache.py` for it.", "file_created"),
    ],
)
def test_a_claim_is_found(text: str, what: str) -> None:
    assert what in kinds(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("It is not done yet.", "implemented"),
        ("I have not fixed the crash.", "fixed"),
        ("The bug was never fixed.", "fixed"),
        ("I will deploy once all tests pass.", "tests_pass"),
        ("Publish only after the tests pass.", "tests_pass"),
        ("The tests should pass.", "tests_pass"),
        ("39 passed, 3 failed.", "tests_pass"),
        ("40/42 tests pass; the other two fail.", "tests_pass"),
        ("The unit tests pass, but the integration tests do not.", "tests_pass"),
        ("I did not fix the bug; it needs a redesign.", "implemented"),
        ("I did not fix the bug; it needs a redesign.", "fixed"),
        ("I changed nothing.", "implemented"),
        ("Added no tests.", "implemented"),
        ("%%DONE-77%%", "implemented"),
        ("The work tree has uncommitted changes.", "committed"),
        ("Nothing was committed.", "committed"),
        ("```\nAll tests passed. Done.\n```", "tests_pass"),
        ('The banner reads "All tests passed".', "tests_pass"),
        ("> Fixed the crash.", "fixed"),
        ("Print `DONE` at the end.", "implemented"),
        ("You have fixed the header already.", "fixed"),
        ("The header has a fixed width.", "fixed"),
        ("`make lint` passes.", "tests_pass"),
    ],
)
def test_what_only_looks_like_a_claim(text: str, what: str) -> None:
    assert what not in kinds(text)


@pytest.mark.parametrize(
    "text", ["It should work now.", "This should fix the crash.", "I think it is right.", "Hopefully fixed."]
)
def test_a_hedge_is_found(text: str) -> None:
    assert hedges_in(read(text)).all


@pytest.mark.parametrize(
    "text",
    [
        "This is not a hedge.",
        "It works: 42 passed.",
        'The log says "should work now".',
        "`should work` is printed.",
        "The parser should reject empty names, and now does.",
    ],
)
def test_what_is_no_hedge_about_the_outcome(text: str) -> None:
    assert not hedges_in(read(text)).outcome


def test_admitting_that_nothing_was_run_is_noticed() -> None:
    assert hedges_in(read("I haven't run the tests.")).unchecked
    assert hedges_in(read("CI is still running.")).unchecked
    assert not hedges_in(read("I ran the tests.")).unchecked


def test_spans_point_at_the_words() -> None:
    text = "Well. **Fixed** the crash."
    [claim] = [c for c in claims_in(read(text)) if c.what == "fixed"]
    assert claim.span.text == "Fixed" == text[claim.span.start : claim.span.end]


@pytest.mark.parametrize(
    ("text", "partial"),
    [
        ("Most tests pass.", True),
        ("Almost all of the tests pass.", True),
        ("40/42 tests pass.", True),
        ("40 of the 42 tests pass.", True),
        ("All but the slow tests pass.", True),
        ("All tests pass except the snapshot suite.", True),
        ("All tests pass.", False),
        ("42/42 tests pass.", False),
        ("After some changes, all tests pass.", False),
        ("All tests pass, but I left the linter alone.", False),
    ],
)
def test_a_part_of_the_tests_is_told_from_all(text: str, partial: bool) -> None:
    prose = read(text)
    [claim] = [c for c in claims_in(prose) if c.what == "tests_pass"]
    assert is_partial(prose, claim) is partial
