"""What a reviewer or a person said about a task reaches the agent who works on it next, and nothing passes it by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.roles.yard import DONE, FIND, Yard, asked_with, code_turns, opened, sh, task, writes

from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.questions.question import QuestionRecord
from touchline.roles.build.controlling import resume_build, want
from touchline.sessions.records import session_record

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("build-words")]
NO = "It deletes the production data.\\nAnd it has no test."
REJECTED = f"""
- {{question: review_plan, answer: {{verdict: needs_changes, guidance: "{NO}"}}}}
- {{question: review_code, answer: {{verdict: approved, guidance: ""}}}}
"""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def plans(id: str) -> str:
    """A planner with a new plan for each reading."""
    turns = "".join(f'      - text: "The plan {n}: write it, way {n}.\\n${{marker}}"\n' for n in range(4))
    when = f"/You plan one task[\\s\\S]*Task {id}:/"
    return f"  - name: plan-{id}\n    when: '{when}'\n    {FIND.strip()}\n    turns:\n{turns}"


def question(yard: Yard, id: str) -> QuestionRecord:
    with yard.database.reading() as connection:
        (found,) = [each for each in open_questions(connection) if each.build_id == id]
    return found


def answer(yard: Yard, id: str, words: str) -> None:
    """Answer the build's question, and wait until it has ended again."""
    runs = yard.build(id).runs
    answer_question(yard.engine, yard.database, question(yard, id).id, words, person="Ann")
    yard.until(lambda: yard.build(id).runs > runs and yard.build(id).ended, "it goes on, and ends")


def asked(yard: Yard, session: str) -> str:
    with yard.database.reading() as connection:
        return session_record(connection, session).asked.task


def reviewed(yard: Yard, id: str) -> list[tuple[str, str]]:
    return [(each["of"], each["verdict"]) for each in yard.tasks(id)["T-001"].data["reviews"]]


def test_a_plan_that_was_rejected_is_never_built(yard: Yard) -> None:
    script = plans("T-001") + code_turns("T-001", *writes("rejected.py"))
    id = yard.start((task("T-001", "rejected.py"),), script, judge=yard.answers(REJECTED))
    assert yard.end(id).reason == "escalated"
    row = yard.tasks(id)["T-001"]
    assert (row.reason, row.plan) == ("plan_rejected", "")
    assert "came back 3 times: It deletes the production data.\nAnd it has no test." in question(yard, id).text
    answer(yard, id, "retry")
    row = yard.tasks(id)["T-001"]
    assert (row.reason, row.plan, "coding" in row.data["sessions"]) == ("plan_rejected", "", False)
    assert reviewed(yard, id) == [("plan", "needs_changes")] * 6, "planned and read anew"
    told = asked(yard, row.data["sessions"]["planning"][1])
    assert "A reviewer read your plan and wants changes:" in told
    assert told.count("It deletes the production data.") == 1


def test_a_plan_that_nobody_could_read_is_read_when_the_reviewer_is_back(yard: Yard) -> None:
    answers = yard.folder / "away.yaml"
    answers.write_text("- {question: other, answer: {}}\n")
    script = plans("T-001") + code_turns("T-001", *writes("away.py"))
    id = yard.start((task("T-001", "away.py"),), script, judge=f"scripted:{answers}")
    yard.end(id)
    assert (yard.tasks(id)["T-001"].reason, yard.tasks(id)["T-001"].plan) == ("unreviewed", "")
    answers.write_text(REJECTED.replace("needs_changes", "approved"))
    answer(yard, id, "retry")
    assert yard.build(id).status == "complete"
    assert reviewed(yard, id)[-2:] == [("plan", "approved"), ("code", "approved")]
    assert "The plan 0" in yard.tasks(id)["T-001"].plan


def test_a_build_that_is_stopped_while_a_plan_is_read_has_it_read_again(yard: Yard) -> None:
    answers = yard.folder / "stopped.yaml"
    answers.write_text("- {question: other, answer: {}}\n")
    script = plans("T-001") + code_turns("T-001", *writes("stopped.py"))
    id = yard.start((task("T-001", "stopped.py"),), script, judge=f"scripted:{answers}")
    yard.until(lambda: yard.tasks(id)["T-001"].state in ("plan_review", "suspended"), "it is being read")
    want(yard.database, id, "stop")
    yard.end(id)
    answers.write_text(REJECTED)
    resume_build(yard.engine, yard.database, id)
    yard.end(id)
    row = yard.tasks(id)["T-001"]
    assert (row.reason, "coding" in row.data["sessions"]) == ("plan_rejected", False)


def test_disputed_work_is_not_merged_while_a_persons_words_are_unheard(yard: Yard) -> None:
    answers = yard.folder / "disputed.yaml"
    answers.write_text("- {question: other, answer: {}}\n")
    again = asked_with("A person looked at what went wrong", "T-001", *writes("disputed.py", "x = 2\\n"))
    script = again + code_turns("T-001", *writes("disputed.py"))
    id = yard.start((task("T-001", "disputed.py"),), script, plan=False, judge=f"scripted:{answers}")
    yard.end(id)
    assert yard.tasks(id)["T-001"].reason == "unreviewed"
    answers.write_text("- {question: review_code, answer: {verdict: approved, guidance: ''}}\n")
    answer(yard, id, "x must be 2, not 1. Change it before it is merged.")
    build, row = yard.build(id), yard.tasks(id)["T-001"]
    assert (build.status, row.attempts, len(row.sessions)) == ("complete", 2, 2), build.detail
    assert yard.git("show", "build:disputed.py", at=Path(build.workshop)) == "x = 2"
    told = asked(yard, row.sessions[1])
    assert "x must be 2, not 1." in told
    assert "+x = 1" in told, "with the work that it is about"


def test_work_that_only_waited_for_its_reviewer_is_taken_without_another_attempt(yard: Yard) -> None:
    answers = yard.folder / "waited.yaml"
    answers.write_text("- {question: other, answer: {}}\n")
    script = code_turns("T-001", *writes("waited.py"))
    id = yard.start((task("T-001", "waited.py"),), script, plan=False, judge=f"scripted:{answers}")
    yard.end(id)
    answers.write_text("- {question: review_code, answer: {verdict: approved, guidance: ''}}\n")
    answer(yard, id, "retry")
    row = yard.tasks(id)["T-001"]
    assert (yard.build(id).status, row.attempts, len(row.sessions)) == ("complete", 1, 1)


def test_the_reviewers_words_reach_the_agent_of_a_new_session(yard: Yard) -> None:
    """The first agent never reports; its work is recognised, and sent back by its reader."""
    judge = yard.answers(
        """
- {question: review_code, when: [first_try], answer: {verdict: needs_changes, guidance: "Handle negative numbers."}}
- {question: review_code, answer: {verdict: approved, guidance: ""}}
"""
    )
    first = ('{calls: [{write: read.py, content: "first_try = 1\\n"}]}', '{text: "I wrote it.", times: always}')
    second = ('{calls: [{write: read.py, content: "second_try = 1\\n"}]}', sh("test -f read.py"), DONE)
    script = asked_with("Handle negative numbers.", "T-001", *second) + code_turns("T-001", *first)
    id = yard.start((task("T-001", "read.py"),), script, plan=False, judge=judge)
    build, row = yard.end(id), yard.tasks(id)["T-001"]
    assert (build.status, row.attempts, len(row.sessions)) == ("complete", 2, 2), (build.detail, row.ended)
    told = asked(yard, row.sessions[1])
    assert told.count("Handle negative numbers.") == 1
    assert "+first_try = 1" in told
    with yard.database.reading() as connection:
        assert session_record(connection, row.sessions[1]).runs == 1, "said once"
