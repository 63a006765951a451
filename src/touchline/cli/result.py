"""What came of a session? Its end, evidence, changes with the risky parts, and what to do next, as one value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.audit.figures import count, plain
from touchline.cli.exits import Exit
from touchline.cli.place import command
from touchline.errors import TouchlineError

if TYPE_CHECKING:
    from touchline.agents.workspaces.proposal import Proposal
    from touchline.sessions.records import DecisionRecord, SessionRecord
    from touchline.store.database import Database

SCHEMA = "touchline.run/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A session that rests, as people and programs are told of it."""

    record: SessionRecord
    question: str = ""
    """What it asks, when it waits."""
    proposal: Proposal | None = None
    """What applying its work would do; None when there is nothing to apply, or it cannot be worked out."""
    proposal_error: str = ""
    unsaved: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    """Files that the user had not committed when it began: they were not part of it."""
    runs: tuple[Mapping[str, Any], ...] = ()
    """Test runs, oldest first: the agent's own, and Touchline's check."""
    coached: Mapping[str, int] = field(default_factory=dict)
    """How often each measure was taken."""

    @property
    def accepted(self) -> bool:
        return self.record.status == "delivered" and self.record.delivery == "accepted"

    @property
    def exit(self) -> Exit:
        if self.record.status == "waiting":
            return Exit.WAITING
        return Exit.DONE if self.accepted else Exit.FOUND

    @property
    def evidence(self) -> Mapping[str, Any]:
        found = self.record.result.get("evidence")
        return found if isinstance(found, Mapping) else {}

    @property
    def changes(self) -> Mapping[str, Any]:
        found = self.record.result.get("changes")
        return found if isinstance(found, Mapping) and self.record.status != "running" else {}

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self.record.result.get("missing", ())) if self.record.delivery else ()


def result_of(database: Database, record: SessionRecord, *, workspaces: Path | None = None) -> Result:
    """All that is known of it now."""
    from touchline.sessions.records import decisions_of_session, question_of_session, turns_of_session

    with database.reading() as connection:
        question = question_of_session(connection, record) if record.status == "waiting" else ""
        decisions = decisions_of_session(connection, record.id)
        turns = turns_of_session(connection, record.id)
    proposal, error = _proposal(record)
    unsaved, submodules = _left_out(record, workspaces)
    return Result(
        record=record,
        question=question,
        proposal=proposal,
        proposal_error=error,
        unsaved=unsaved,
        submodules=submodules,
        runs=tuple(_runs(decisions)),
        coached={
            "coached": sum(turn.kind == "continue" for turn in turns),
            "steered": sum(turn.kind == "steer" for turn in turns) + _reminders(database, record.id),
            "nudged": sum(turn.kind == "nudge" for turn in turns),
        },
    )


def next_step(result: Result) -> str:
    """The command that comes next; empty when there is none."""
    record = result.record
    name = short(record.id)
    if record.status == "waiting":
        return command(f'sessions resume {name} "your answer"')
    if record.status in ("stopped", "failed"):
        return command(f"sessions resume {name}")
    if record.status != "delivered":
        return command(f"sessions follow {name}")
    if result.proposal is not None and result.proposal.how != "nothing":
        return command(f"apply {name}")
    return "" if result.accepted else command(f'sessions resume {name} "what to do next"')


def short(id: str) -> str:
    """The part of an id that tells it from the others, for typing: `sessions show` takes it."""
    return id.rpartition("_")[2] if id.startswith("session_") else id


def why(record: SessionRecord) -> str:
    """Why it stands as it does, in words."""
    reason = plain(record.reason or "")
    detail = " ".join(record.detail.split())
    return f"{reason}: {detail}" if reason and detail and detail.lower() != reason else reason or detail


def run_words(run: Mapping[str, Any], *, last: int | None = None) -> str:
    """A test run in words: `unittest: 1 failed, 2 passed (call 4)`; with `last`, several that came to the same."""
    counts = ", ".join(f"{run[name]} {name}" for name in ("failed", "passed", "skipped") if run.get(name))
    first = run.get("call")
    calls = f"call {first}" if last in (None, first) else f"calls {first} to {last}"
    if run.get("own"):
        calls = "run by Touchline"
    return f"{run.get('runner') or 'tests'}: {counts or run.get('outcome', '')} ({calls})"


def runs_words(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Test runs in words, neighbours with the same counts as one."""
    groups: list[list[Mapping[str, Any]]] = []
    for run in runs:
        if groups and all(
            groups[-1][0].get(name) == run.get(name) for name in ("runner", "outcome", "passed", "failed", "own")
        ):
            groups[-1].append(run)
        else:
            groups.append([run])
    return [run_words(group[0], last=group[-1].get("call")) for group in groups]


def as_json(result: Result) -> dict[str, Any]:
    """The result for programs."""
    record = result.record
    told = dict(record.result)
    proposal = result.proposal
    return {
        "session": record.id,
        "status": record.status,
        "delivery": record.delivery,
        "accepted": result.accepted,
        "reason": record.reason,
        "detail": record.detail,
        "question": result.question or None,
        "task": record.asked.task,
        "agent": record.agent,
        "model": record.model or record.asked.model,
        "repository": record.repository,
        "sandbox": {"level": record.sandbox, "why": record.sandbox_why},
        "text": told.get("text", ""),
        "values": told.get("values", {}),
        "recovered_by": told.get("recovered_by", ""),
        "missing": list(result.missing),
        "evidence": dict(result.evidence),
        "test_runs": [dict(run) for run in result.runs],
        "measures": dict(result.coached),
        "changes": dict(result.changes),
        "risks": [{"path": r.path, "kind": r.kind, "why": r.why} for r in proposal.risks] if proposal else [],
        "applies_by": proposal.how if proposal else None,
        "not_part_of_it": [*result.unsaved, *(f"{each} (submodule)" for each in result.submodules)],
        "spent": dict(record.spent),
        "next": next_step(result) or None,
        "exit_code": int(result.exit),
    }


def _proposal(record: SessionRecord) -> tuple[Proposal | None, str]:
    from touchline.agents.workspaces.proposal import propose

    if record.status != "delivered" or not record.head_commit or not record.base_commit:
        return None, ""
    try:
        found = propose(Path(record.repository), record.head_commit, record.base_commit, env=os.environ)
    except TouchlineError as error:
        return None, str(error)
    return found, ""


def _left_out(record: SessionRecord, workspaces: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from touchline.agents.workspaces.clone import left_out_of

    if not record.workspace:
        return (), ()
    return left_out_of(workspaces / record.id if workspaces is not None else Path(record.workspace).parent)


def _reminders(database: Database, id: str) -> int:
    """What was said to the agent in mid-turn is in the log alone."""
    from touchline.store.event_search import Wanted, search

    return len(search(database, Wanted(session=id, patterns=("reminder.sent",)), limit=1000))


def _runs(decisions: Sequence[DecisionRecord]) -> list[Mapping[str, Any]]:
    found: dict[int, Mapping[str, Any]] = {}
    for decision in decisions:
        for run in decision.evidence.get("test_runs", ()):
            found[int(run.get("call", -1))] = run
    return [found[call] for call in sorted(found)]


def measures_words(coached: Mapping[str, int]) -> str:
    """`coached twice, nudged once`; empty when nothing was needed."""
    times = {1: "once", 2: "twice"}
    return ", ".join(f"{name} {times.get(n) or count(n, 'time')}" for name, n in coached.items() if n)
