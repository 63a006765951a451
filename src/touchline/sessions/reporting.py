"""Did the agent report what it had to? The last turn against its contract, with a nudge's answer taken in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from touchline.sessions.contracts import contract_of
from touchline.sessions.evidence import Evidence
from touchline.sessions.path_facts import facts_of
from touchline.sessions.records import SessionRecord, TurnRecord
from touchline.sessions.watching import BUDGET, LOOP
from touchline.supervision.contract import Content, Contract, ContractCheck, check_contract, declared_paths
from touchline.supervision.facts import Turn
from touchline.supervision.limits import Limits
from touchline.supervision.recovery import Attempt, Recovery, merge_nudge, recover


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The turn that is held against the task: the work's own, completed by a nudge's answer where there was one."""

    turn: Turn
    text: str
    """What it says of itself."""
    contract: Contract | None
    check: ContractCheck | None
    recovery: Recovery | None
    failures: int


def reported_by(session: SessionRecord, evidence: Evidence, *, limits: Limits) -> Reported:
    """Hold the last turn against the contract, on the free rungs of the ladder, and say which rung is next."""
    last = evidence.turns[-1]
    contract = contract_of(session.asked.contract, session.marker)
    at_loop = (last.record.stopped or "").startswith((LOOP, BUDGET))
    if contract is None or at_loop:
        return Reported(
            turn=last.whole, text=last.whole.final_text, contract=None, check=None, recovery=None, failures=0
        )
    workspace = Path(session.workspace)

    def checked(turn: Turn, record: TurnRecord) -> ContractCheck:
        paths = facts_of(declared_paths(contract, turn), workspace=workspace, since=record.started_at)
        return check_contract(contract, turn, paths=paths, ledger=evidence.ledger)

    if last.record.kind == "nudge" and len(evidence.turns) > 1:
        first = evidence.turns[-2]
        before = checked(first.whole, first.record)
        both = declared_paths(contract, first.whole) | declared_paths(contract, last.whole)
        paths = facts_of(both, workspace=workspace, since=first.record.started_at)
        check, turn = merge_nudge(contract, before, first.whole, last.whole, paths=paths)
        text = check.body if check.recovered_by == "nudge" else first.whole.final_text
    else:
        turn = last.whole
        check = checked(turn, last.record)
        text = check.body or turn.final_text
    kept = check.content is Content.COMPLETE
    failures = 0 if kept else session.state.failures + 1
    attempt = Attempt(
        wants_writes=bool((session.asked.contract or {}).get("wants_writes")),
        nudged=session.state.nudged or last.record.kind == "nudge",
        failures=failures,
    )
    recovery = recover(contract, check, turn, evidence.ledger, attempt, limits=limits)
    return Reported(turn=turn, text=text, contract=contract, check=check, recovery=recovery, failures=failures)
