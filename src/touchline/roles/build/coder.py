"""One task, from a clone to a commit: the workflow that leads a coder through its states.

Kept in the task's `data`: `number` (its runs), `sessions` (state -> ids), `head` and `base` of the newest work, `tree`
(what was checked), `checks`, `reviews`, `commit`, `failures` (what went wrong before), `ended`, `rebase`, `session_run`
(the run that its sessions began in) and `spent` (the last of these that was counted as an attempt), `advice` (a
person's words) and `heard` (whether work came of them). The states stand in `states`, the rules about failures in
`failures`; here they are only carried out. Between two steps nothing is looked at but what the last step returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchline.engine.port import Flow
from touchline.engine.workbook import BOOK
from touchline.roles.build import coder_checks, coder_ends, coder_reviews, coder_sessions
from touchline.roles.build.failures import Failure, back_off, decide_failure
from touchline.roles.build.faults import Faulty, guarded
from touchline.roles.build.leasing import give_back
from touchline.roles.build.states import State
from touchline.sessions.room import current_room

WORKFLOW = "task.run"
QUEUE = "tasks"
REVIEWS = 3
"""How often a plan or a change goes back to its author before a person must look."""
BOOK.queue(QUEUE)


@BOOK.workflow(WORKFLOW, queue=QUEUE)
def run_task(flow: Flow, id: str, number: int) -> str:
    """One run of a task. Returns how it ended; what follows from that is the build's to decide."""
    work = _Work(flow, id, number)
    try:
        return work.whole()
    except Faulty as fault:
        return work.failed(fault.why)


class _Work:
    """One run. Every method is a part of the workflow: it only carries plain values from step to step."""

    def __init__(self, flow: Flow, id: str, number: int) -> None:
        self.flow, self.id, self.number = flow, id, number
        self.room = current_room()

    def whole(self) -> str:
        begun = self._step("setup", coder_checks.set_up, self.id, self.number)
        if begun["then"] not in ("done", "test"):
            self.flow.transaction("spend", coder_ends.spend, self.id)
        match begun["then"]:
            case "done":
                return self.end(begun)
            case "test":
                return self.test_and_merge(begun["head"])
            case "verify":
                return self.verify()
            case "plan":
                planned = self.plan()
                if planned["how"] != "accepted":
                    return self.failed(planned)
        coded = self._session(State.CODING, 1, "")
        return self.failed(coded) if coded["how"] != "accepted" else self.test_and_merge(coded["head"])

    def plan(self) -> dict[str, Any]:
        """Plan, read-only, until a reviewer takes it."""
        message = ""
        for number in range(1, REVIEWS + 1):
            handed = self._session(State.PLANNING, number, message)
            if handed["how"] != "accepted":
                return handed
            read = self._read(f"read plan {number}", coder_reviews.read_plan, handed["text"])
            if read["verdict"] != "needs_changes":
                return {"how": "accepted"}
            message = read["message"]
        words = f"The plan came back {REVIEWS} times: {read['words']}"
        return {"how": "escalate", "reason": "plan_rejected", "detail": words}

    def test_and_merge(self, head: str) -> str:
        """Check, have it read, put it on the branch; each may send it back to its author."""
        number = 1
        while True:
            checked = self._step(f"test {number}", coder_checks.test, self.id, head, self.flow.must_stop)
            if checked["outcome"] != "passed":
                made = self.flow.transaction(f"tries {number}", coder_ends.tries, self.id)
                decision = decide_failure(Failure(checked["failure"]), attempts=made, detail=checked["detail"])
                if decision.then != "retry":
                    return self.failed({"how": "failed", "reason": checked["failure"], "detail": checked["detail"]})
                self.flow.transaction(f"count {number}", coder_ends.count, self.id)
                message = checked["message"]
            else:
                read = self._read(f"read change {number}", coder_reviews.read_change, head)
                if read["verdict"] != "needs_changes":
                    break
                if number >= REVIEWS:
                    return self.failed({"how": "escalate", "reason": "change_rejected", "detail": read["words"]})
                self.flow.transaction(f"spend {number}", coder_ends.spend, self.id)
                message = read["message"]
            number += 1
            coded = self._session(State.CODING, number, message)
            if coded["how"] != "accepted":
                return self.failed(coded)
            head = coded["head"]
        merged = self._step(f"merge {number}", coder_checks.merge, self.id, head, self.flow.must_stop)
        return self.end(merged) if merged["how"] == "merged" else self.failed(merged)

    def verify(self) -> str:
        """A VERIFY task: Touchline's own check of what is there; nobody is paid for it."""
        checked = self._step("verify", coder_checks.verify, self.id, self.flow.must_stop)
        if checked["outcome"] == "passed":
            return self.end({"commit": None})
        return self.failed({"how": "failed", "reason": checked["failure"], "detail": checked["detail"], "final": True})

    def end(self, done: dict[str, Any]) -> str:
        # The commit is on the branch: whoever waits for the file begins with it.
        self._step("release", give_back, self.id)
        self.flow.transaction("complete", coder_ends.complete, self.id, self.number, done)
        self._step("tasks file", coder_ends.note_in_file, self.id)
        return "done"

    def failed(self, why: dict[str, Any]) -> str:
        """Write down the end of this run; the build decides what follows from it."""
        self.flow.transaction("failed", coder_ends.fail, self.id, self.number, why)
        self._step("let go", give_back, self.id)
        self._step("tasks file", coder_ends.note_in_file, self.id)
        return str(why["how"])

    def _session(self, state: State, number: int, message: str) -> dict[str, Any]:
        """One supervised session, or its continuation; outages are waited out and are no attempts."""
        outages = 0
        while True:
            name = f"{state} {number}" + (f" again {outages}" if outages else "")
            engine, stop = self.flow.engine, self.flow.must_stop
            self._step(f"start {name}", coder_sessions.start, engine, self.id, str(state), name, message)
            ended = self._step(f"await {name}", coder_sessions.await_end, engine, self.id, str(state), stop)
            if ended["how"] != "transient":
                return dict(ended)
            decision = decide_failure(Failure.TRANSIENT, attempts=0, detail=ended["detail"], outages=outages)
            if decision.then != "back_off":
                return {"how": "escalate", "reason": "outage", "detail": decision.why}
            self.flow.transaction(f"suspend {name}", coder_ends.suspend, self.id)
            self.flow.sleep(back_off(self.room.limits, outages))
            self.flow.transaction(f"wake {name}", coder_ends.wake, self.id)
            outages += 1

    def _read(self, name: str, work: Callable[..., Any], what: str) -> dict[str, Any]:
        """A review. A reviewer who is configured and cannot be asked is waited for: nothing passes while he is away."""
        for outages in range(REVIEWS + 1):
            step = name + (f" again {outages}" if outages else "")
            read = self._step(step, work, self.id, f"{self.flow.id} {step}", what)
            if not read.get("away"):
                return dict(read)
            if outages < REVIEWS:
                self.flow.transaction(f"suspend {name} {outages}", coder_ends.suspend, self.id)
                self.flow.sleep(back_off(self.room.limits, outages))
                self.flow.transaction(f"wake {name} {outages}", coder_ends.wake, self.id)
        raise Faulty({"how": "escalate", "reason": "unreviewed", "detail": read["words"]})

    def _step(self, name: str, work: Callable[..., Any], *args: Any) -> Any:
        """A step whose exception becomes the end of this run, with its reason: no task hangs on one."""
        result = self.flow.step(name, guarded, work, self.room, *args)
        if isinstance(result, dict) and "fault" in result:
            raise Faulty(result["fault"])
        return result
