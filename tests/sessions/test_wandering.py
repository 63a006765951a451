"""Turn after turn at a high price that brings nothing: the agent is told, then somebody looks, then it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.sessions.house import FAST, House, Story, opened

from touchline.sessions.reviewing import REVIEWERS, Case, Opinion

pytestmark = pytest.mark.timeout(120)
WORKS = """
  - {calls: [{write: "${workspace}/part%d.md", content: "Part %d."}]}
  - {text: "I wrote part %d down. Next I will write another one."}
"""
WANDERS = '  - {usage: {input: 30000}, text: "I thought about part %d. Next I will think about another one."}\n'
READS = """
  - {usage: {input: 30000}, calls: [{shell: "echo %d"}]}
  - {text: "I looked at part %d. Next I will look at another one."}
"""
CHEAP = WANDERS.replace("30000", "1000")
FOUND = "2 turns in a row brought no change and no passing check, at"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    limits = replace(FAST, idle_turns=2, wander_turns=3, continue_cap=9)
    with opened(tmp_path_factory.mktemp("house"), limits=limits) as made:
        yield made


def script(*parts: str) -> str:
    """The parts in their order, each with its own number: the same closing words are a loop of their own."""
    return "turns:\n" + "".join(part.replace("%d", str(n)) for n, part in enumerate(parts))


def reviewed(house: House, text: str, opinion: Opinion, **asked: Any) -> tuple[Story, list[str]]:
    requests: list[str] = []

    def reviewer(case: Case) -> Opinion:
        requests.append(case.request)
        return opinion

    REVIEWERS["eve"] = reviewer
    try:
        return house.run(text, reviewer="eve", **asked), requests
    finally:
        del REVIEWERS["eve"]


def test_an_agent_that_wanders_is_steered_and_stopped_when_that_does_not_help(house: House) -> None:
    story = house.run(script(WORKS, WANDERS, WANDERS, WANDERS, WANDERS))
    assert story.actions == [
        *("continue:status", "continue:status", "steer:thrash_steered", "deliver:thrash_stopped"),
    ], story.told()
    told = story.of("coaching.sent")[-1]
    assert (told["tier"], told["rule"]) == ("steer", "wandering")
    assert FOUND in told["text"]
    assert story.turns[3].prompt == told["text"]
    assert "3 turns in a row brought no change" in story.session.detail


def test_a_change_ends_it(house: House) -> None:
    story = house.run(script(WORKS, WANDERS, WANDERS, WORKS, WANDERS), turns=5)
    assert story.actions[2:] == ["steer:thrash_steered", "continue:status", "deliver:budget_exhausted"], story.told()


def test_reading_what_is_new_gets_more_patience(house: House) -> None:
    story = house.run(script(WORKS, READS, READS, READS), turns=9)
    assert story.actions[:4] == ["continue:status"] * 3 + ["steer:thrash_steered"], story.told()


def test_at_the_usual_price_it_is_no_wandering(house: House) -> None:
    story = house.run(script(WORKS, CHEAP, CHEAP, CHEAP, CHEAP), turns=5)
    assert story.actions == ["continue:status"] * 4 + ["deliver:budget_exhausted"], story.told()


def test_before_anything_was_brought_there_is_no_price_to_compare_with(house: House) -> None:
    story = house.run(script(CHEAP, WANDERS, WANDERS, WANDERS), turns=4)
    assert story.actions == ["continue:status"] * 3 + ["deliver:budget_exhausted"], story.told()


def test_a_question_is_asked_and_not_steered(house: House) -> None:
    asks = '  - {usage: {input: 30000}, text: "Should the sums be rounded to two digits, or cut?"}\n'
    story = house.run(script(WORKS, WANDERS, asks))
    assert story.actions[-1] == "ask:question", story.told()


def test_a_fault_of_the_provider_is_nobodys_idle_turn(house: House) -> None:
    story = house.run(script(WORKS, "  - {error: 529, times: 4}\n", WANDERS, WORKS), turns=4)
    assert story.actions[:3] == ["continue:status", "retry:provider_fault", "continue:status"], story.told()


def test_a_reviewer_looks_before_it_is_stopped(house: House) -> None:
    opinion = Opinion(verdict="abandon", guidance="The task is not worth it.")
    story, requests = reviewed(house, script(WORKS, WANDERS, WANDERS, WANDERS), opinion)
    assert story.actions[-2:] == ["steer:thrash_steered", "deliver:thrash_reviewed"], story.told()
    assert requests[0].count("3 turns in a row brought no change") == 1


def test_where_a_reviewer_lets_it_go_on_the_count_begins_anew(house: House) -> None:
    opinion = Opinion(verdict="approved", guidance="It is a hard part; think on.")
    story, _ = reviewed(house, script(WORKS, WANDERS, WANDERS, WANDERS, WANDERS, WORKS), opinion, turns=6)
    assert story.actions[2:5] == ["steer:thrash_steered", "review:thrash_reviewed", "continue:status"], story.told()


def test_the_budget_review_is_told_of_it_and_must_answer_to_it(house: House) -> None:
    opinion = Opinion(verdict="approved", guidance="")
    story, requests = reviewed(house, script(WORKS, WANDERS, WANDERS, WORKS), opinion, turns=3)
    assert story.actions[2] == "review:budget_exhausted", story.told()
    assert FOUND in requests[0]
    assert "**ALERT**" in requests[0]
    assert story.of("review.completed")[0]["verdict"] == "needs_changes", "an approval without a word is not taken"
