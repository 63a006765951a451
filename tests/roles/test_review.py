"""Plans and changes read by somebody else than their author; without one they are unreviewed, and that is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from touchline.roles.review.code import DIFF_TOKENS, Reviewed, record_review, review_code, review_plan
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.tables import reviews, usage

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "answers.yaml"
    found = {"verdict": "needs_changes", "guidance": "Test it.", "findings": ["app.py:1 has no test"]}
    path.write_text(
        json.dumps(
            [
                {"question": "review_code", "when": ["x = 2", "pytest: failed"], "answer": found},
                {"question": "review_code", "answer": {"verdict": "approved"}},
                {"question": "review_plan", "answer": {"verdict": "approved", "guidance": "Go."}},
            ]
        )
    )
    return {"TOUCHLINE_MODEL": f"scripted:{path}"}


def test_a_change_is_judged_with_its_checks(env: dict[str, str]) -> None:
    bad = review_code(task="Set x to 2", diff=DIFF, checks="pytest: failed", env=env)
    assert (bad.verdict, bad.words) == ("needs_changes", "Test it.\n- app.py:1 has no test")
    good = review_code(task="Set x to 2", diff=DIFF, checks="pytest: 3 passed", env=env)
    assert good.approved
    assert good.by == "scripted"
    assert review_plan(task="t", plan="1. Do it.", env=env).words == "Go."


def test_without_a_model_nothing_is_approved(env: dict[str, str]) -> None:
    for found in (review_code(task="t", diff=DIFF, env={}), review_plan(task="t", plan="p", env={})):
        assert found.verdict == "unreviewed"
        assert not found.approved
        assert "TOUCHLINE_MODEL" in found.words
    broken = review_code(task="t", diff=DIFF, env=env, line="http://127.0.0.1:9/v1#none")
    assert broken.verdict == "unreviewed"


def test_a_review_that_came_to_nothing_was_paid_all_the_same(env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(json.dumps([{"question": "review_code", "answer": {"verdict": "perhaps"}}]))
    found = review_code(task="t", diff=DIFF, env=env, line=f"scripted:{path}")
    assert found.verdict == "unreviewed"
    assert [(name, lost.tries) for name, lost in found.answers] == [("review_code", 3)]


def test_nothing_is_nothing_to_approve(env: dict[str, str]) -> None:
    assert review_code(task="t", diff=" \n", env=env).verdict == "needs_changes"
    assert review_plan(task="t", plan="", env=env).verdict == "needs_changes"


def test_what_is_too_long_is_cut_and_said(env: dict[str, str]) -> None:
    found = review_code(task="t", diff="+ a line of code\n" * DIFF_TOKENS, env=env)
    assert found.cut == ("diff",)
    assert "Only the beginning was reviewed" in found.words
    assert found.answers[0][1].usage.input < DIFF_TOKENS


def test_the_authors_own_model_is_marked(env: dict[str, str]) -> None:
    assert review_plan(task="t", plan="p", env=env, author="scripted").same_model
    assert not review_plan(task="t", plan="p", env=env, author="claude-opus").same_model


def test_a_review_is_written_down_with_what_it_cost(database: Database, env: dict[str, str]) -> None:
    with database.writing() as connection:
        record_review(connection, review_code(task="t", diff=DIFF, env=env), kind="code")
        record_review(connection, Reviewed(verdict="unreviewed", words="Nobody."), kind="plan")
    with database.reading() as connection:
        rows = list(connection.execute(sa.select(reviews).order_by(reviews.c.at)).mappings())
        told = [e.payload["verdict"] for e in read(connection, limit=100) if e.type == "review.completed"]
        paid = connection.execute(sa.select(usage.c.purpose)).scalars().all()
    assert [(row["origin"], row["verdict"], row["status"]) for row in rows] == [
        ("code", "approved", "complete"),
        ("plan", "unreviewed", "withdrawn"),
    ]
    assert told == ["approved", "unreviewed"]
    assert paid == ["supervision:review_code"]
