"""Nothing is taken because the reviewer is away, and what nobody reviews is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.roles.yard import Yard, code_turns, opened, task, writes

from touchline.cli.build_output import print_seen
from touchline.questions.asking import open_questions
from touchline.roles.build.overview import overview_of

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


def test_without_a_reviewer_it_is_taken_and_said(yard: Yard, capsys: pytest.CaptureFixture[str]) -> None:
    id = one_task(yard, "alone.py", "")
    assert yard.end(id).status == "complete"
    with yard.database.reading() as connection:
        seen = overview_of(connection, id)
    print_seen(seen)
    assert "Nobody has reviewed T-001: no model is configured." in capsys.readouterr().out
