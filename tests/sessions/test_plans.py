"""A plan that was given reaches the agent: in its first prompt, and when it stops half-way."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sessions.house import House, opened

from touchline.sessions.plans import plan_of, plan_text
from touchline.sessions.reviewing import REVIEWERS, Case, Opinion

pytestmark = pytest.mark.timeout(120)
PLAN = "# Sums\n\nsums.py adds, {path} and all.\n\n## Success Criteria\n\n- the sum of nothing is 0\n"
HALF_WAY = (
    "turns:\n  - text: I looked at part 1. Next I will look at another one.\n  - text: Next I will go on reading.\n"
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("house")) as made:
        (made.repo / "plans").mkdir()
        (made.repo / "plans" / "sums.md").write_text(PLAN)
        (made.repo / "leads-out.md").symlink_to("/etc/hostname")
        for command in (["add", "-A"], ["commit", "-q", "-m", "Plan"]):
            subprocess.run(["git", *command], cwd=made.repo, check=True, capture_output=True)
        yield made


def test_an_agent_is_told_where_the_plan_is_and_later_what_it_counts_as_done(house: House) -> None:
    story = house.run(HALF_WAY, plan="plans/sums.md", turns=2)
    first, second = house.prompts(story)
    assert first.startswith("Write the sum function.\n\nThe plan of this task is plans/sums.md in the workspace.")
    assert "the sum of nothing is 0" not in first, "it is there to be read"
    assert second.startswith("[System Coach]")
    assert "The plan (plans/sums.md) counts it as done when:\n\n- the sum of nothing is 0\n" in second
    assert story.of("coaching.sent")[0]["tier"] == "criteria"


def test_a_plan_that_the_agent_cannot_open_is_told_word_for_word(house: House, tmp_path: Path) -> None:
    (tmp_path / "sums.md").write_text(PLAN)
    story = house.run(HALF_WAY, plan=str(tmp_path / "sums.md"), turns=2)
    first, second = house.prompts(story)
    assert PLAN.strip() in first
    assert "The plan of this task, sums.md, lies outside of the workspace." in first
    assert str(tmp_path) not in first + second, "a path that it cannot open would only be tried"
    assert "The plan (the first message of this session) counts it as done when:" in second


def test_a_long_plan_is_cut_and_says_so(house: House, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("a" * 30_000 + "\n## Success Criteria\n\n- it is short\n")
    first, second = house.prompts(house.run(HALF_WAY, plan=str(tmp_path / "long.md"), turns=2))
    assert first.count("a" * 20_000) == 1
    assert "[cut here, after 20,000 characters]" in first
    assert "- it is short" not in first
    assert "- it is short" in second


def test_an_absolute_path_into_the_workspace_is_a_path_in_the_workspace(house: House) -> None:
    session = house.run(HALF_WAY, plan="plans/sums.md", turns=1).session
    inside = f"{session.workspace}/plans/sums.md"
    plan = plan_of(replace(session, asked=replace(session.asked, plan=inside)))
    assert plan is not None
    assert (plan.path, plan.text) == ("plans/sums.md", PLAN)


@pytest.mark.parametrize("path", ["leads-out.md", "../../../../etc/hostname", "no-such-plan.md"])
def test_a_plan_that_is_not_there_or_leads_out_is_neither_read_nor_spoken_of(house: House, path: str) -> None:
    story = house.run(HALF_WAY, plan=path, turns=2)
    first, _ = house.prompts(story)
    assert "plan" not in first
    plan = plan_of(story.session)
    assert plan is not None
    assert plan.text is None
    assert "not read" in plan_text(story.session) or "cannot be read" in plan_text(story.session)


def test_a_pipe_in_the_place_of_the_plan_does_not_keep_a_reviewer_waiting(house: House) -> None:
    asked: list[str] = []

    def reviewer(case: Case) -> Opinion:
        asked.append(case.request)
        return Opinion(verdict="abandon", guidance="There is no plan.")

    REVIEWERS["eve"] = reviewer
    script = "turns:\n  - {calls: [{shell: mkfifo PLAN.md}]}\n" + HALF_WAY.removeprefix("turns:\n")
    try:
        house.run(script, plan="PLAN.md", turns=1, reviewer="eve")
    finally:
        del REVIEWERS["eve"]
    assert "PLAN.md (it cannot be read: it is no plain file)" in asked[0]


def test_a_conversation_that_begins_anew_is_told_of_the_plan_again(house: House) -> None:
    story = house.run(HALF_WAY, plan="plans/sums.md", turns=2, agent="forgetful")
    assert "The plan of this task is plans/sums.md in the workspace." in house.prompts(story)[0], story.told()
