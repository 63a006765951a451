"""May a person take a change that only its review holds up? His word is the review then; the task's check is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from touchline.questions.question import Option
from touchline.roles.build.changes import keep_data
from touchline.roles.build.rows import BuildRow, TaskRow
from touchline.roles.review.code import Reviewed, record_review

ACCEPT = "accept"
OPTION = Option(
    label=ACCEPT, description="Take the change as it is. You are its reviewer then; its check must still pass."
)
REASONS = frozenset({"unreviewed", "change_rejected"})
"""Ends of a task with which nothing but the review is in the way."""


def acceptable(row: TaskRow) -> bool:
    """Whether there is a change that passed its check and that nobody has approved."""
    reviews: Sequence[Mapping[str, Any]] = row.data.get("reviews") or ()
    checks: Sequence[Mapping[str, Any]] = row.data.get("checks") or ()
    held_up = row.ended.get("reason") in REASONS and bool(reviews) and reviews[-1]["of"] == "code"
    return held_up and bool(row.data.get("head")) and bool(checks) and checks[-1]["outcome"] == "passed"


def shown_where(row: TaskRow, build: BuildRow) -> str:
    """How a person looks at the change before he takes it."""
    return f"See the change: git --git-dir {build.workshop} diff {row.data['base'][:12]} {row.data['head'][:12]}"


def accept(connection: sa.Connection, row: TaskRow, *, by: str) -> None:
    """Write the person's review; the next run of the task merges that very change, once its check has passed again."""
    reviewed = Reviewed(verdict="approved", words="Taken as it is.", by=by)
    authors = row.data.get("sessions", {}).get("coding") or (None,)
    record_review(connection, reviewed, kind="code", task_id=row.id, build_id=row.build_id, author_session=authors[-1])
    told = {"of": "code", "key": f"{row.job} person", **reviewed.to_json(), "person": True}
    reviews = [*row.data.get("reviews", ()), told]
    # Advice of an earlier answer is over: what it led to is what was taken.
    keep_data(
        connection, row.id, reviews=reviews, accepted={"head": row.data["head"], "by": by}, advice=None, counts=False
    )
