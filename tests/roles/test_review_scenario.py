"""The architect through the real loop: a planner that fetches in vain is reminded, reviewed, and brought back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.sessions.house import House, Story, opened

from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.review import architect
from touchline.store.tables import reviews, usage
from touchline.supervision.sameness import thrash_data

pytestmark = pytest.mark.timeout(180)

PLAN = "1. Read parser.py. 2. Split the tokenizer out of it."
GUIDANCE = "Stop running git fetch: the workspace is current and read-only. Read parser.py and hand in the plan."
FETCHES = """
turns:
  - {calls: [{shell: git fetch origin}], until: You are PLANNING, delay: 0.3}
  - {calls: [{shell: git fetch origin}]}
  - {text: The fetch does not work. Next I will try to fetch again.}
  - {text: It still does not work. Next I will try to fetch once more.}
  - heard: Stop running git fetch
    calls: [{shell: cat README.md}]
    else: {text: nobody guided me}
  - {text: "The answer is a plan that splits the tokenizer out of parser.py, and touches nothing else."}
"""
EXPLORES = """
turns:
  - {calls: [{shell: ls}, {shell: cat README.md}]}
  - {calls: [{shell: git log --oneline}]}
  - {text: "The answer is a plan that splits the tokenizer out of parser.py, and touches nothing else."}
"""
ANNOUNCES = "turns:\n" + "".join(
    f"  - text: I looked at part {n}. Next I will look at another one.\n" for n in range(20)
)
ASKS = """
turns:
  - {text: Should I use the decimal module or plain floats for the sums?}
  - heard: use decimal
    text: The answer is that sums are made with decimal.
    else: {text: nobody answered me}
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    assert architect.NAME == "architect"
    with opened(tmp_path_factory.mktemp("house")) as made:
        yield made


def model(folder: Path, *entries: dict[str, Any]) -> str:
    """A model that answers from a file."""
    path = folder / "answers.yaml"
    path.write_text(json.dumps(entries))
    return f"scripted:{path}"


def verdict(word: str, guidance: str = "", **more: Any) -> dict[str, Any]:
    return {"question": "review_budget", "answer": {"verdict": word, "guidance": guidance}, **more}


def rows(house: House, story: Story) -> list[sa.RowMapping]:
    with house.database.reading() as connection:
        query = sa.select(reviews).where(reviews.c.session_id == story.session.id).order_by(reviews.c.at)
        return list(connection.execute(query).mappings())


def paid(house: House, story: Story) -> list[str]:
    with house.database.reading() as connection:
        query = sa.select(usage.c.purpose).where(usage.c.session_id == story.session.id)
        return [each for each in connection.execute(query).scalars() if each.startswith("supervision:")]


def plan_file(folder: Path) -> str:
    path = folder / "plan.md"
    path.write_text(PLAN)
    return str(path)


def test_a_planner_that_fetches_in_vain_is_brought_back(house: House, tmp_path: Path) -> None:
    line = model(
        tmp_path,
        # The verdict is given only to a request that carries all of this.
        verdict(
            "needs_changes", GUIDANCE, when=["**ALERT**", "git fetch", "FAILED (exit code", PLAN, "planning budget"]
        ),
    )
    story = house.run(
        FETCHES,
        task="How is the parser to be split? Give a plan.",
        read_only=True,
        sandbox=None,
        turns=2,
        reviewer="architect",
        reviewer_model=line,
        plan=plan_file(tmp_path),
    )
    reminders = [each for each in story.of("reminder.sent") if each["rule"] == "planning"]
    assert [each["number"] for each in reminders] == [1], "in the very same turn, once per streak"
    assert reminders[0]["text"] == thrash_data("steer")["planning"].strip()
    assert "review:budget_exhausted" in story.actions, story.told()
    (written,) = rows(house, story)
    assert (written["verdict"], written["guidance"], written["origin"]) == ("needs_changes", GUIDANCE, "planning")
    told = next(turn for turn in story.turns if turn.kind == "review")
    assert GUIDANCE in told.prompt
    called = [each["args"].get("command") for each in story.of("agent.called")]
    assert called.count("git fetch origin") >= 2
    assert called[-1] == "cat README.md", "it changed course"
    assert story.session.delivery == "accepted", story.told()
    assert "splits the tokenizer" in story.session.result["text"]
    request = next((house.folder / "sessions" / story.session.id).glob("review-*.md")).read_text()
    (found,) = [line for line in request.splitlines() if line.startswith("Repeated failing command detected: ")]
    assert "git fetch origin" in found
    assert paid(house, story) == ["supervision:review_budget"]


def test_healthy_exploration_triggers_nothing(house: House, tmp_path: Path) -> None:
    line = model(tmp_path)
    story = house.run(
        EXPLORES, task="How is the parser to be split? Give a plan.", read_only=True, turns=10, reviewer="architect",
        reviewer_model=line,
    )  # fmt: skip
    assert story.actions == ["deliver:completed"], story.told()
    assert story.of("reminder.sent") == story.of("review.requested") == []
    assert paid(house, story) == []


def test_an_approval_brings_its_words_to_the_agent_too(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, verdict("approved", "Good. Mind the tabs."))
    script = ANNOUNCES.replace("I looked at part 1. Next I will look at another one.", "The answer is 42.")
    story = house.run(script, task="What is the answer?", turns=1, reviewer="architect", reviewer_model=line)
    assert "Good. Mind the tabs." in story.turns[1].prompt
    assert [each["verdict"] for each in rows(house, story)] == ["approved"]


def test_a_plan_that_the_task_tells_is_shown_as_the_plan(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, verdict("approved", "Go on.", when=["## Plan", "1. Split the tokenizer."]))
    script = ANNOUNCES.replace("I looked at part 1. Next I will look at another one.", "The answer is 42.")
    asked = {"turns": 1, "reviewer": "architect", "reviewer_model": line, "planned": "1. Split the tokenizer."}
    story = house.run(script, task="What is the answer?", **asked)
    request = next((house.folder / "sessions" / story.session.id).glob("review-*.md")).read_text()
    assert "1. Split the tokenizer." in request
    assert "(none yet)" not in request


def test_the_sixth_in_a_row_ends_it_without_asking(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, verdict("needs_changes", "Look elsewhere."))
    story = house.run(ANNOUNCES, turns=1, reviewer="architect", reviewer_model=line)
    assert paid(house, story) == ["supervision:review_budget"] * 5
    assert [each["verdict"] for each in rows(house, story)] == ["needs_changes"] * 5 + ["abandon"]
    assert len(story.turns) == 6
    assert story.session.delivery == "unresolved"
    assert "6 reviews in a row" in story.session.result["review"]["lesson"]


def test_an_approval_without_a_word_under_alert_is_not_taken(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, verdict("needs_changes", "Read it.", when=["was not taken"]), verdict("approved", ""))
    script = FETCHES.replace("Stop running git fetch", "Read it.")
    story = house.run(
        script, task="How is the parser to be split? Give a plan.", read_only=True, turns=2, reviewer="architect",
        reviewer_model=line,
    )  # fmt: skip
    assert [each["guidance"] for each in rows(house, story)] == ["Read it."], story.told()
    assert paid(house, story) == ["supervision:review_budget"] * 2


def test_without_a_model_the_limit_still_holds_and_the_line_to_add_is_said(house: House) -> None:
    story = house.run(ANNOUNCES, turns=1, reviewer="architect")
    assert story.session.delivery == "unresolved", story.told()
    assert len(story.turns) == 1
    assert "TOUCHLINE_MODEL" in story.session.detail


def test_a_reviewer_who_says_nothing_usable_was_paid_all_the_same(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, {"question": "review_budget", "answer": {"verdict": "perhaps"}})
    story = house.run(ANNOUNCES, turns=1, reviewer="architect", reviewer_model=line)
    assert story.session.delivery == "unresolved", story.told()
    assert "no usable answer" in story.session.detail
    assert paid(house, story) == ["supervision:review_budget"]


def test_an_adviser_who_says_nothing_usable_was_paid_all_the_same(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, {"question": "answer_question", "answer": {"decision": "perhaps"}})
    story = house.run(ASKS, task="How are sums made?", reviewer="architect", reviewer_model=line)
    assert story.session.status == "waiting", story.told()
    assert paid(house, story) == ["supervision:answer_question"]


def answer_of(decision: str, text: str, **more: Any) -> dict[str, Any]:
    return {"question": "answer_question", "answer": {"decision": decision, "text": text}, **more}


def test_an_agents_question_is_answered_by_the_architect(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, answer_of("answer", "use decimal", when=["decimal module or plain floats"]))
    story = house.run(ASKS, task="How are sums made?", reviewer="architect", reviewer_model=line)
    assert story.session.delivery == "accepted", story.told()
    assert story.kinds == ["first", "answer"]
    assert story.of("question.asked") == [], "nobody was disturbed"
    (told,) = story.of("question.advised")
    assert told["answer"] == "use decimal"
    assert paid(house, story) == ["supervision:answer_question"]


def test_what_he_passes_on_waits_for_a_person_with_his_words(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, answer_of("pass_on", "It is about money: ask the owner."))
    story = house.run(ASKS, task="How are sums made?", reviewer="architect", reviewer_model=line)
    assert story.session.status == "waiting", story.told()
    with house.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.session_id == story.session.id]
    assert question.context.startswith("It is about money: ask the owner.")
    answer_question(house.engine, house.database, question.id, "use decimal", person="ann")
    story = house.rest(story.session.id, unlike="waiting")
    assert story.session.delivery == "accepted", story.told()


def test_an_abandoned_task_ends_and_says_why(house: House, tmp_path: Path) -> None:
    line = model(tmp_path, answer_of("abandon", "There is no such module."))
    story = house.run(ASKS, task="How are sums made?", reviewer="architect", reviewer_model=line)
    assert (story.session.status, story.session.delivery) == ("delivered", "unresolved"), story.told()
    assert "There is no such module." in story.session.detail


def test_an_architect_who_cannot_be_asked_leaves_it_to_a_person(house: House, tmp_path: Path) -> None:
    story = house.run(ASKS, task="How are sums made?", reviewer="architect", reviewer_model=model(tmp_path))
    assert story.session.status == "waiting", story.told()
    with house.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.session_id == story.session.id]
    assert "could not be asked" in question.context


def test_one_who_only_asks_comes_to_a_person_in_the_end(house: House, tmp_path: Path) -> None:
    script = "turns:\n" + "".join(f"  - {{text: Should I use way {n} or way {n + 1}?}}\n" for n in range(9))
    line = model(tmp_path, answer_of("answer", "the first one"))
    story = house.run(script, task="How are sums made?", reviewer="architect", reviewer_model=line)
    assert story.session.status == "waiting", story.told()
    assert paid(house, story) == ["supervision:answer_question"] * 3
