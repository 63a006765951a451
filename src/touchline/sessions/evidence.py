"""What do the turns of a session prove? Their streams, snapshots and checks as one ledger, and that ledger in short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.agents.port import Driver
from touchline.sessions import snapshots
from touchline.sessions.checks import CheckRun, with_check
from touchline.sessions.heard_times import with_times
from touchline.sessions.raw import Heard, heard
from touchline.sessions.records import SessionRecord, TurnRecord
from touchline.supervision.evidence import Ledger, TestRun
from touchline.supervision.ledger import ledger_of
from touchline.supervision.stops import Stop

_SHOWN = 50
_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All turns as they were heard, and the ledger over them."""

    turns: tuple[Heard, ...]
    ledger: Ledger
    after: tuple[Ledger, ...]
    """The ledger as it stood after each turn."""
    first_call: int
    """Index of the judged turn's first call."""


def evidence_of(
    driver: Driver, session: SessionRecord, folder: Path, turns: Sequence[TurnRecord], *, judged: int
) -> Evidence:
    """Read all streams again. `judged` is the number of the turn whose stop is judged; a check that ran after it
    before is left out, so that judging once more gives the same."""
    ledger, first = Ledger(), 0
    found: list[Heard] = []
    after: list[Ledger] = []
    for turn in turns:
        if turn.number == judged:
            first = ledger.calls
        each = heard(driver, session, folder, turn)
        found.append(each)
        parts = with_times(folder, turn.number, each.parts)
        ledger = ledger_of(parts, ledger, snapshot=snapshots.kept(folder, turn.number, session.workspace))
        if turn.number < turns[-1].number:
            ledger = with_check(ledger, CheckRun.from_json(turn.check_run))
        after.append(ledger)
    return Evidence(turns=tuple(found), ledger=ledger, after=tuple(after), first_call=first)


def shown(ledger: Ledger, stop: Stop, check: CheckRun | None) -> dict[str, Any]:
    """For the decision's row, the result, and people: small, and pointing at calls by their index."""
    run = ledger.last_test_run
    files = list(dict.fromkeys(write.path for write in ledger.writes))
    return {
        "calls": ledger.calls,
        "files": files[:_SHOWN],
        "files_in_all": len(files),
        "last_edit": ledger.last_edit,
        "verified_after_last_edit": None if ledger.last_edit is None else ledger.verified_after_last_edit,
        "after_last_edit": [
            {"call": c.call, "command": c.text[:200], "exit_code": c.exit_code, "failed": c.failed}
            for c in ledger.after_last_edit[-5:]
        ],
        "last_test_run": None if run is None else _run(run),
        "test_runs": [_run(each) for each in ledger.test_runs[-_RUNS:]],
        "commits": [commit.hash for commit in ledger.commits][:_SHOWN],
        "pull_requests": list(ledger.pull_requests)[:_SHOWN],
        "weakened": None if ledger.weakened is None else ledger.weakened.detail,
        "claims": [
            {
                "what": c.what,
                "words": c.span.text[:200],
                "standing": str(c.standing),
                "because": c.because,
                "call": c.call,
            }
            for c in stop.claims[:_SHOWN]
        ],
        "check": None
        if check is None
        else {
            "command": check.command,
            "verified": check.verified,
            "how": check.how,
            "exit_code": check.exit_code,
            "passed": check.passed,
            "failed": check.failed,
            "collected": check.collected,
            "why": check.why(),
        },
    }


def _run(run: TestRun) -> dict[str, Any]:
    return {
        "call": run.call,
        "runner": run.runner,
        "outcome": run.outcome,
        "passed": run.passed,
        "failed": run.failed,
        "skipped": run.skipped,
        "collected": run.collected,
        "own": run.own,
    }
