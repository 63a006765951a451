"""The numbers that a person set hold everywhere in a run, not only where the decision is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.sessions.house import FAST, House, opened

from touchline.sessions.reading import READERS, Reading, Unclear
from touchline.sessions.reviewing import REVIEWERS, Case, Opinion
from touchline.supervision.judge import Verdict
from touchline.supervision.stops import Kind

pytestmark = pytest.mark.timeout(120)
ANNOUNCES = "I looked at part 1. Next I will look at another one."
"""What the rules read as a status with 0.85."""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    limits = replace(FAST, sure=0.9, failure_window=4, failure_rate=0.2, warn_turns_before=1)
    with opened(tmp_path_factory.mktemp("strict"), limits=limits) as made:
        yield made


def test_the_reader_is_asked_below_the_confidence_that_was_set(strict: House) -> None:
    asked: list[float] = []

    def reader(stop: Unclear) -> Reading:
        asked.append(stop.question.confidence)
        return Reading(verdict=Verdict(kind=Kind.STATUS, confidence=0.95, missing=()))

    READERS["eve"] = reader
    try:
        story = strict.run(f'turns:\n  - text: "{ANNOUNCES}"\n  - text: "{ANNOUNCES}"\n', reviewer="eve", turns=2)
    finally:
        del READERS["eve"]
    assert asked[0] == 0.85, "he is asked where the rules alone would do with the default of 0.80"
    assert story.actions[0] == "continue:status", story.told()


def test_the_analysis_for_a_reviewer_counts_with_the_numbers_that_were_set(strict: House) -> None:
    asked: list[str] = []

    def reviewer(case: Case) -> Opinion:
        asked.append(case.request)
        return Opinion(verdict="abandon", guidance="It is not worth more.")

    REVIEWERS["eve"] = reviewer
    calls = ", ".join(f"{{shell: {each}}}" for each in ("ls", "pwd", "cat README.md", "ls -a", "ls no-such-file"))
    try:
        strict.run(f'turns:\n  - {{calls: [{calls}]}}\n  - text: "{ANNOUNCES}"\n', reviewer="eve", turns=1)
    finally:
        del REVIEWERS["eve"]
    assert "High tool failure rate: 1/4 tool calls failed (25%)" in asked[0]


def test_the_warning_before_the_last_turns_comes_as_early_as_was_set(strict: House) -> None:
    READERS["eve"] = lambda _: Reading(verdict=Verdict(kind=Kind.STATUS, confidence=0.95))
    try:
        story = strict.run("turns:\n" + f'  - text: "{ANNOUNCES}"\n' * 3, reviewer="eve", turns=3)
    finally:
        del READERS["eve"]
    assert ["turns for this task" in words for words in strict.prompts(story)] == [False, False, True], story.told()
