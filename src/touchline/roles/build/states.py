"""Which states does a coder go through, and which may follow which? One table; every handler is tested against it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from touchline.errors import BuildError


class State(StrEnum):
    """Where a task's coder stands."""

    SETUP = "setup"
    """A clone is made and a checkpoint taken."""
    PLANNING = "planning"
    """The agent explores, read-only, and submits a plan."""
    PLAN_REVIEW = "plan_review"
    """The architect reads the plan."""
    CODING = "coding"
    """Another run of the agent does the work, with full access to its clone."""
    TESTING = "testing"
    """Touchline runs the task's check itself."""
    CODE_REVIEW = "code_review"
    """Somebody other than the author reads the change."""
    MERGING = "merging"
    """The commit is put on the build's branch and validated there again."""
    QUESTION = "question"
    """The agent asked something; its reviewer, or a person, answers."""
    BUDGET_REVIEW = "budget_review"
    """The turns of the state are used up; the architect decides."""
    SUSPENDED = "suspended"
    """The provider is away; the coder goes back to where it was."""
    DONE = "done"
    ERROR = "error"


_S = State
TABLE: Mapping[State, tuple[State, ...]] = {
    _S.SETUP: (_S.PLANNING, _S.CODING, _S.TESTING, _S.SUSPENDED, _S.ERROR),
    _S.PLANNING: (_S.PLAN_REVIEW, _S.BUDGET_REVIEW, _S.QUESTION, _S.SUSPENDED, _S.ERROR),
    _S.PLAN_REVIEW: (_S.CODING, _S.PLANNING, _S.QUESTION, _S.SUSPENDED, _S.ERROR),
    _S.CODING: (_S.TESTING, _S.BUDGET_REVIEW, _S.QUESTION, _S.SUSPENDED, _S.ERROR),
    _S.TESTING: (_S.CODE_REVIEW, _S.MERGING, _S.CODING, _S.DONE, _S.SUSPENDED, _S.ERROR),
    _S.CODE_REVIEW: (_S.MERGING, _S.CODING, _S.QUESTION, _S.SUSPENDED, _S.ERROR),
    _S.MERGING: (_S.DONE, _S.CODING, _S.SUSPENDED, _S.ERROR),
    _S.QUESTION: (_S.PLANNING, _S.PLAN_REVIEW, _S.CODING, _S.CODE_REVIEW, _S.ERROR),
    _S.BUDGET_REVIEW: (_S.PLANNING, _S.CODING, _S.SUSPENDED, _S.ERROR),
    _S.SUSPENDED: (
        _S.SETUP,
        _S.PLANNING,
        _S.PLAN_REVIEW,
        _S.CODING,
        _S.TESTING,
        _S.CODE_REVIEW,
        _S.MERGING,
        _S.BUDGET_REVIEW,
        _S.ERROR,
    ),
    _S.DONE: (),
    _S.ERROR: (),
}
"""What may follow each state. `setup -> testing`: a task that is done already is recognised before work is spent.
`testing -> done`: a VERIFY task changes nothing, so there is nothing to merge."""
RETURNS = frozenset({State.QUESTION, State.SUSPENDED, State.BUDGET_REVIEW})
"""States that lead back to where the coder came from."""


def check_move(before: State, after: State, *, origin: State | None = None) -> None:
    """BuildError when the move is not in the table, or a side state would lead elsewhere than back or to the error."""
    if after not in TABLE[before]:
        raise BuildError(
            f"A coder cannot go from {before} to {after}.", hint=f"Allowed: {', '.join(TABLE[before]) or 'nothing'}."
        )
    leads_back = before in RETURNS and after not in RETURNS and after is not State.ERROR
    if leads_back and before is not State.BUDGET_REVIEW and after is not origin:
        raise BuildError(
            f"{before} came from {origin or 'nowhere'} and cannot lead to {after}.",
            hint="The state it came from is kept with the task; it must not be lost.",
        )
