"""Budgets end a session, a passing fault does not, and what nobody can tell is said instead of spent."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

from touchline.cli.progress_view import spent_words
from touchline.sessions.reviewing import REVIEWERS, Case, Opinion

pytestmark = pytest.mark.timeout(120)

ANNOUNCES = "turns:\n" + "".join(
    f"  - text: I looked at part {n}. Next I will look at another one.\n" for n in range(9)
)
DONE = '  - {text: "The answer is 42."}\n'


def test_a_transient_fault_is_retried_in_the_same_session_and_counts_as_no_attempt(house: House) -> None:
    faults = "turns:\n  - {calls: [{shell: ls}]}\n  - {error: 529, times: 4}\n"
    story = house.run(faults + DONE, task="What is the answer?")
    assert story.actions == ["retry:provider_fault", "deliver:completed"], story.told()
    assert story.kinds == ["first", "retry"]
    assert story.session.failures == 0
    assert story.turns[0].cli_session_id == story.turns[1].cli_session_id


def test_a_fault_that_does_not_pass_is_delivered_as_an_error(house: House) -> None:
    story = house.run("turns:\n  - {error: 529, times: 99}\n", task="What is the answer?")
    assert story.actions == ["retry:provider_fault"] * 2 + ["deliver:provider_fault"], story.told()
    assert (story.session.status, story.session.delivery) == ("failed", "error")


def test_a_lasting_fault_is_not_retried(house: House) -> None:
    story = house.run("turns:\n  - {error: 401}\n", task="What is the answer?")
    assert story.actions == ["deliver:api_error"], story.told()
    assert story.session.status == "failed"


def test_turns_run_out(house: House) -> None:
    story = house.run(ANNOUNCES, turns=2)
    assert story.actions == ["continue:status", "deliver:budget_exhausted"], story.told()
    assert "turns: 2 of 2" in story.session.detail


def test_tokens_run_out_in_the_middle_of_a_turn(house: House) -> None:
    script = "turns:\n" + "".join(f"  - {{delay: 0.1, calls: [{{shell: echo {n}}}]}}\n" for n in range(80)) + DONE
    story = house.run(script, tokens=5000)
    assert story.actions == ["deliver:budget_exhausted"], story.told()
    assert (story.turns[0].stopped or "").startswith("budget")
    assert len(story.of("agent.called")) < 60, "it was stopped on the way"


def test_money_runs_out_in_the_middle_of_a_turn(house: House) -> None:
    """The cost is told when the turn is over; until then the tokens are priced as they come."""
    script = "turns:\n" + "".join(
        f"  - {{delay: 0.1, usage: {{input: 1000, output: 50}}, calls: [{{shell: echo {n}}}]}}\n" for n in range(80)
    )
    story = house.run(script + DONE, usd=0.02, model="claude-sonnet-4-5")
    assert story.actions == ["deliver:budget_exhausted"], story.told()
    assert story.turns[0].stopped == "budget: the money is used up"
    assert len(story.of("agent.called")) < 60, "it was stopped on the way"
    assert sum(event["cost_usd"] for event in story.of("agent.spent")) < 0.2


def test_a_cost_that_is_not_told_is_estimated_and_marked(house: House) -> None:
    script = "turns: [{text: The answer is 42., usage: {input: 1000, cached: 0, output: 50}}]"
    story = house.run(script, task="What is the answer?", usd=1.0, agent="silent", model="gemini-2.5-pro")
    assert story.actions == ["deliver:completed"], story.told()
    assert story.turns[0].cost_usd == pytest.approx(1000 * 1.25e-6 + 50 * 10e-6)
    assert story.session.spent["estimated"] is True
    (ended,) = story.of("turn.ended")
    assert ended["cost_estimated"] is True
    assert "about <$0.01" in spent_words(story.session.spent)
    assert "about $0.07" in spent_words({**story.session.spent, "usd": 0.07})
    told = house.run(script, task="What is the answer?", model="gemini-2.5-pro")
    assert "estimated" not in told.session.spent
    assert "about" not in spent_words({**told.session.spent, "usd": 0.07})


def test_a_silent_agent_is_shown_and_left_alone(house: House) -> None:
    script = 'turns: [{delay: 2.5, text: "The answer is 42."}]'
    story = house.run(script, task="What is the answer?", silence_seconds=0.5)
    assert story.actions == ["deliver:completed"], story.told()
    assert [event["seconds"] >= 0.5 for event in story.of("session.quiet")] == [True], "told once"


def test_an_agent_that_cannot_resume_is_told_everything_again(house: House) -> None:
    story = house.run(ANNOUNCES, turns=2, agent="sessionless", task="Look at all parts.")
    assert story.actions == ["continue:status", "deliver:budget_exhausted"], story.told()
    assert story.turns[0].cli_session_id != story.turns[1].cli_session_id


def test_money_runs_out(house: House) -> None:
    story = house.run(ANNOUNCES, usd=0.000001)
    assert story.actions == ["deliver:budget_exhausted"], story.told()


def test_with_a_money_limit_and_an_unknown_cost_it_stops_and_says_so(house: House) -> None:
    story = house.run(ANNOUNCES, usd=5.0, agent="silent")
    assert story.actions == ["deliver:cost_unknown"], story.told()
    assert "does not tell what it spends" in story.session.detail
    assert house.run(ANNOUNCES, agent="silent", turns=2).actions[0] == "continue:status"


def test_the_time_of_a_session_runs_out_as_a_budget_not_as_a_crash(house: House) -> None:
    script = "turns:\n  - {calls: [{shell: sleep 60}]}\n"
    story = house.run(script, seconds=2.0)
    assert story.actions == ["deliver:budget_exhausted"], story.told()
    assert story.session.delivery == "unresolved"


def test_a_turn_that_takes_too_long_is_an_error(house: House) -> None:
    story = house.run("turns:\n  - {calls: [{shell: sleep 60}]}\n", turn_seconds=2.0)
    assert story.actions == ["deliver:timed_out"], story.told()
    assert story.session.status == "failed"


def test_an_agent_that_is_not_there_is_told_by_the_result(house: House) -> None:
    story = house.run(DONE, settings={"script": "/no/such/script.yaml"})
    assert story.session.status == "failed"
    assert story.session.reason == "script_error"
    assert "/no/such/script.yaml" in story.session.detail
    assert len(story.parcels) == 1


def test_a_reviewer_is_asked_when_turns_run_out_and_his_words_reach_the_agent(house: House) -> None:
    asked: list[str] = []

    def reviewer(case: Case) -> Opinion:
        asked.append(case.request)
        return Opinion(verdict="approved" if len(asked) == 1 else "abandon", guidance="Read the index first.", by="eve")

    REVIEWERS["eve"] = reviewer
    try:
        story = house.run(ANNOUNCES, turns=1, reviewer="eve")
    finally:
        del REVIEWERS["eve"]
    assert story.actions[0] == "review:budget_exhausted", story.told()
    assert "Read the index first." in story.turns[1].prompt
    assert story.kinds == ["first", "review"]
    assert "Write the sum function." in asked[0]
    assert story.session.delivery == "unresolved"
    assert "Read the index first." in story.session.detail
