"""Where may a process die? Named points at every durable step, at which a test can have it killed.

Unarmed, a point costs one comparison. `TOUCHLINE_FAULT=outbox.sent` kills the process (SIGKILL, to itself) when it
comes by that point, `outbox.sent:3` when it comes by for the third time. Every point is listed in `FAULT_POINTS`.
"""

from __future__ import annotations

import os
import signal
from typing import Final

VARIABLE: Final = "TOUCHLINE_FAULT"

FAULT_POINTS: Final[dict[str, str]] = {
    "events.appending": "the transaction that appends events is open, nothing is in it yet",
    "events.appended": "events are written, the transaction is not committed",
    "lease.acquiring": "a lease is about to be asked for",
    "lease.acquired": "a lease is written, the transaction is not committed",
    "lease.releasing": "a lease is about to be given back",
    "lease.released": "a lease is given back, the transaction is not committed",
    "outbox.enqueued": "a delivery is written beside its decision, the transaction is not committed",
    "outbox.claimed": "a delivery is claimed by this sender, and not sent",
    "outbox.sent": "the receiver has it, the row does not say so yet",
    "outbox.marked": "the row says sent, the transaction is not committed",
    "workflow.starting": "a workflow is about to be enqueued",
    "workflow.started": "a workflow is enqueued, its starter has not been told",
    "workflow.began": "a worker took the workflow and begins, or begins again",
    "workflow.ended": "the workflow's function returned, its result is not recorded",
    "step.starting": "a step is about to run, or its recorded result to be used",
    "step.done": "the step did its work, the result is not recorded",
    "step.recorded": "the step's result is recorded",
    "transaction.written": "a step's own writes and its result are in the transaction, not committed",
    "transaction.committed": "a step's transaction is committed, the engine has not recorded it",
    "inbox.recorded": "a person's answer is committed, the engine does not know of it",
    "question.parked": "the rest of the work is put aside until an answer or the deadline",
    "question.answered": "the answer is with the engine, what waits for it is not woken",
    "question.woken": "what waits for the answer may run",
    "child.starting": "a child process is about to be started",
    "child.started": "a child process runs",
    "child.finished": "a child process ended, its result is not recorded",
    "build.fetched": "the build's own repository has the commit it begins with, its branch is not set",
    "build.reviewed": "a plan or a change is read and the review kept, its step is not recorded",
    "build.merged": "a task's commit is made and validated, the branch does not have it yet",
    "build.advanced": "the branch has the task's commit, the task's row does not say so yet",
    "build.task_done": "the task's row says complete, its file tasks.md does not",
    "takeover.claimed": "a dead executor is claimed by this one, none of its work moved",
    "takeover.recovered": "a dead executor's work is back in the queues, its row is not removed",
    "session.asked": "a session's row is committed, its workflow is not started",
    "session.turn_begun": "a turn's row is written, its process is not started",
    "session.turn_heard": "the agent of a running turn has said or done something",
    "session.turn_over": "a turn's process is gone, its row does not say so yet",
    "session.turn_ended": "a turn's row says how it ended, its step is not recorded",
    "session.judged": "a stop is judged, the decision is not written",
    "session.acting": "a decision and all that follows from it is written, the transaction is not committed",
    "session.collected": "the agent's commits are imported, the delivery is not written",
    "session.delivering": "status, decision and delivery are written, the transaction is not committed",
    "session.sent": "the result has reached its receiver, the row does not say so yet",
    "apply.computed": "what the user's branch would become is worked out, nothing is changed",
    "apply.staged": "new contents and the new index lie beside the checkout, there is no journal yet",
    "apply.journaled": "the journal says what is to be done, nothing is changed",
    "apply.locked": "the user's index is locked, nothing is changed",
    "apply.committed": "the user's branch has moved, its files have not",
    "apply.written": "one more file of the user's checkout is the new one",
    "apply.indexed": "branch, files and index are new, the journal is still there",
    "apply.done": "the journal is gone",
}

_armed: tuple[str, int] | str | None = "unread"


def fault_point(name: str) -> None:
    """Die here when armed for it."""
    global _armed
    if _armed is None:
        return
    if isinstance(_armed, str):
        _armed = parsed(os.environ.get(VARIABLE, ""))
    if _armed is None:
        return
    if name not in FAULT_POINTS:
        raise ValueError(f"The fault point {name!r} is not listed, so no test would ever stop there.")
    if _armed[0] == name:
        _armed = (name, _armed[1] - 1)
        if _armed[1] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def arm(spec: str) -> None:
    """Arm this process for `name` or `name:count`; an empty text disarms it."""
    global _armed
    _armed = parsed(spec)


def parsed(spec: str) -> tuple[str, int] | None:
    """A point and how many times it is passed until it kills. A name nobody knows is refused: it would never fire."""
    if not spec:
        return None
    name, _, count = spec.partition(":")
    if name not in FAULT_POINTS:
        raise ValueError(f"{VARIABLE}={spec}: no fault point is named {name!r}.")
    return name, int(count or 1)
