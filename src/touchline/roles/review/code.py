"""Is a plan good enough to build, and is a change what was asked for? Asked of a model that is not the author.

Without a model the result is `unreviewed`, said and recorded: nothing is approved because nobody looked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import sqlalchemy as sa

from touchline.errors import ModelError
from touchline.models.asking import Answer
from touchline.models.booking import book
from touchline.models.opening import asker_for, model_line
from touchline.models.question import Question
from touchline.models.questions import PlanVerdict, ReviewCode, ReviewPlan
from touchline.roles.build.context_budget import cut_to, estimate_tokens
from touchline.store.append import append
from touchline.store.columns import now
from touchline.store.events import Ids, NewEvent
from touchline.store.statuses import create, move

SOURCE = "review"
TASK_TOKENS = 6_000
PLAN_TOKENS = 12_000
DIFF_TOKENS = 40_000
SPECIFICATION_TOKENS = 6_000
CONVENTIONS_TOKENS = 6_000
CHECKS_TOKENS = 4_000
"""How much of each a reviewer is shown; what is cut is marked, and he is told that it is."""
Q = TypeVar("Q", bound=Question[PlanVerdict])
Standing = Literal["approved", "needs_changes", "unreviewed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What a review came to."""

    verdict: Standing
    words: str
    """What the author is told; for `unreviewed` why nobody looked."""
    by: str = ""
    """The model that said so; empty when none did."""
    same_model: bool = False
    """It is the author's own model, though in a conversation of its own: worth less, and shown."""
    cut: tuple[str, ...] = ()
    """What was too long to be shown whole."""
    answers: tuple[tuple[str, Answer[Any]], ...] = ()
    """What was asked, for the books."""

    @property
    def approved(self) -> bool:
        return self.verdict == "approved"

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "words": self.words,
            "by": self.by,
            "same_model": self.same_model,
            "cut": list(self.cut),
        }


def review_plan(
    *,
    task: str,
    plan: str,
    specification: str = "",
    conventions: str = "",
    env: Mapping[str, str],
    author: str = "",
    line: str = "",
) -> Reviewed:
    """What an architect says of a plan. `author` is the model that wrote it, `line` the model to ask (else env's)."""
    if not plan.strip():
        return Reviewed(verdict="needs_changes", words="There is no plan. Hand one in: which files, in which order.")
    fitted = _Fitted()
    question = ReviewPlan(
        task=fitted.text("task", task, TASK_TOKENS),
        plan=fitted.text("plan", plan, PLAN_TOKENS),
        specification=fitted.text("specification", specification, SPECIFICATION_TOKENS),
        conventions=fitted.text("conventions", conventions, CONVENTIONS_TOKENS),
    )
    return _asked(question, env=env, author=author, line=line, cut=fitted.cut)


def review_code(
    *,
    task: str,
    diff: str,
    checks: str = "",
    specification: str = "",
    conventions: str = "",
    env: Mapping[str, str],
    author: str = "",
    line: str = "",
) -> Reviewed:
    """What a reviewer says of a change. An empty change is sent back without asking: there is nothing to approve."""
    if not diff.strip():
        return Reviewed(verdict="needs_changes", words="Nothing was changed, so there is nothing to review.")
    fitted = _Fitted()
    question = ReviewCode(
        task=fitted.text("task", task, TASK_TOKENS),
        diff=fitted.text("diff", diff, DIFF_TOKENS),
        checks=fitted.text("checks", checks, CHECKS_TOKENS),
        specification=fitted.text("specification", specification, SPECIFICATION_TOKENS),
        conventions=fitted.text("conventions", conventions, CONVENTIONS_TOKENS),
    )
    return _asked(question, env=env, author=author, line=line, cut=fitted.cut)


def record_review(
    connection: sa.Connection,
    reviewed: Reviewed,
    *,
    kind: Literal["plan", "code"],
    task_id: str | None = None,
    session_id: str | None = None,
    build_id: str | None = None,
    author_session: str | None = None,
) -> str:
    """The review's row and events and what it cost, in the caller's transaction; `unreviewed` is written as that.

    The cost is booked on `author_session`, whose work was read, and so on its task.
    """
    row = create(
        connection,
        "reviews",
        task_id=task_id,
        session_id=session_id,
        origin=kind,
        request=f"{kind} review" + (f", cut: {', '.join(reviewed.cut)}" if reviewed.cut else ""),
        guidance=reviewed.words,
        reviewer=reviewed.by[:80] or None,
    )
    status = "withdrawn" if reviewed.verdict == "unreviewed" else "complete"
    move(connection, "reviews", row, status, verdict=reviewed.verdict, answered_at=now())
    ids = Ids(session=session_id, task=task_id, build=build_id)
    append(
        connection,
        [
            NewEvent(type="review.requested", payload={"review": row, "origin": kind}, source=SOURCE, ids=ids),
            NewEvent(
                type="review.completed",
                payload={"review": row, "verdict": reviewed.verdict, "guidance": reviewed.words},
                source=SOURCE,
                ids=ids,
            ),
        ],
    )
    book(connection, reviewed.answers, session_id=session_id or author_session, build_id=build_id)
    return row


class _Fitted:
    """Cuts texts to their limits and remembers which."""

    def __init__(self) -> None:
        self._cut: list[str] = []

    @property
    def cut(self) -> tuple[str, ...]:
        return tuple(self._cut)

    def text(self, name: str, text: str, tokens: int) -> str:
        if estimate_tokens(text) <= tokens:
            return text
        self._cut.append(name)
        return cut_to(text, tokens)


def _asked(question: Q, *, env: Mapping[str, str], author: str, line: str, cut: tuple[str, ...]) -> Reviewed:
    try:
        asker = asker_for(model_line(env, line), env=env)
        answer = asker.ask(question)
    except ModelError as error:
        return Reviewed(verdict="unreviewed", words=f"Nobody reviewed this: {error}", cut=cut, answers=error.answers)
    told = answer.value.words
    if "diff" in cut or "plan" in cut:
        told = f"{told}\n(Only the beginning was reviewed: it is too long to be shown whole.)".strip()
    names = {answer.model, asker.name.line, asker.name.model, asker.name.line.partition(":")[2]} - {""}
    return Reviewed(
        verdict=answer.value.verdict,
        words=told,
        by=answer.model,
        same_model=bool(author) and author in names,
        cut=cut,
        answers=((question.name, answer),),
    )
