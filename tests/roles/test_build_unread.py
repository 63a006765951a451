"""Nothing is taken because the reviewer is away, but a person may take it; and what nobody reviews is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.roles.yard import Yard, code_turns, opened, plan_turns, task, writes

from touchline.cli.build_output import print_seen
from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.build.overview import overview_of
from touchline.store.tables import reviews

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("build-unread")]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def one_task(yard: Yard, file: str, judge: str) -> str:
    return yard.start((task("T-001", file),), code_turns("T-001", *writes(file)), plan=False, judge=judge)


def test_a_configured_reviewer_who_cannot_be_asked_is_waited_for_and_then_a_person_must_look(yard: Yard) -> None:
    id = one_task(yard, "away.py", yard.answers("- {question: other, answer: {}}\n"))
    build = yard.end(id)
    row = yard.tasks(id)["T-001"]
    assert (build.status, build.reason) == ("stopped", "escalated"), build.detail
    assert (row.task.status, row.reason, row.data.get("commit")) == ("blocked", "unreviewed", None)
    assert yard.git("log", "--format=%s", "refs/touchline/base..build", at=Path(build.workshop)) == ""
    moves = [event.payload["after"] for event in yard.events(id, "task.state")]
    assert moves.count("suspended") == 3
    with yard.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.build_id == id]
    assert "Nobody reviewed this" in question.context
    assert [option.label for option in question.options] == ["accept", "retry", "skip", "wait"]
    assert f"git --git-dir {build.workshop} diff" in question.context

    answer_question(yard.engine, yard.database, question.id, option=1, person="Ann")
    yard.until(lambda: yard.build(id).runs == 2, "the answer goes on with the build")
    assert yard.end(id).status == "complete"
    after = yard.tasks(id)["T-001"]
    assert after.attempts == row.attempts, "nobody worked on it again"
    assert after.sessions == row.sessions
    last = after.data["reviews"][-1]
    assert (last["verdict"], last["by"], last["person"]) == ("approved", "Ann", True)
    assert after.data["checks"][-1]["outcome"] == "passed"
    assert len(after.data["checks"]) == len(row.data["checks"]) + 1, "its check had to pass once more"
    with yard.database.reading() as connection:
        query = sa.select(reviews.c.reviewer, reviews.c.verdict).where(reviews.c.task_id == row.id)
        assert ("Ann", "approved") in [tuple(each) for each in connection.execute(query)]


def test_a_change_that_was_sent_back_three_times_can_be_taken_by_a_person_and_a_plan_cannot(yard: Yard) -> None:
    refuses = "- {{question: {}, answer: {{verdict: needs_changes, guidance: Use tabs.}}}}\n"
    again = [f'{{calls: [{{write: back.py, content: "x = {n}\\n"}}]}}' for n in (2, 3)]
    script = code_turns("T-001", *writes("back.py"), again[0], *writes("back.py", "x = 4\\n")[1:])
    script = script.rstrip("\n") + "\n" + "".join(f"      - {turn}\n" for turn in (again[1], *writes("back.py")[1:]))
    judge = yard.answers(refuses.format("review_code"))
    id = yard.start((task("T-001", "back.py"),), script, plan=False, judge=judge)
    assert yard.end(id).reason == "escalated"
    assert yard.tasks(id)["T-001"].reason == "change_rejected"
    with yard.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.build_id == id]
    answer_question(yard.engine, yard.database, question.id, "accept", person="Ann")
    yard.until(lambda: yard.build(id).runs == 2, "the answer goes on with the build")
    assert yard.end(id).status == "complete"
    assert yard.tasks(id)["T-001"].data["accepted"]["by"] == "Ann"

    planned = yard.start((task("T-001", "plan.py"),), plan_turns("T-001"), judge=yard.answers("[]\n"))
    assert yard.end(planned).reason == "escalated"
    with yard.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.build_id == planned]
    assert "accept" not in [option.label for option in question.options]


def test_without_a_reviewer_it_is_taken_and_said(yard: Yard, capsys: pytest.CaptureFixture[str]) -> None:
    id = one_task(yard, "alone.py", "")
    assert yard.end(id).status == "complete"
    with yard.database.reading() as connection:
        seen = overview_of(connection, id)
    print_seen(seen)
    assert "Nobody has reviewed T-001: no model is configured." in capsys.readouterr().out
