"""What is tried when a turn broke its output contract, and why is a turn tried again?

The paid rungs of the ladder: one short nudge by resume, then a full retry. A nudge that fails changes nothing.
Every retry has one reason, and every reason one route.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from touchline.supervision.contract import Content, Contract, ContractCheck, PathFacts, check_contract
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, Turn, Usage
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.values import Value, replace
from touchline.supervision.words import Word


class Outcome(Word):
    """What a turn came to, seen from whoever asked for it."""

    SUCCEEDED = "succeeded"
    RETRIABLE = "retriable"
    FAILED = "failed"


class RetryReason(Word):
    """Why a turn is tried again."""

    RESUME = "resume"
    STALE = "stale"
    EARLY_STOP = "early_stop"
    EMPTY_OUTPUT = "empty_output"
    ZERO_WRITES = "zero_writes"
    PATH_CONTAMINATION = "path_contamination"
    CONTRACT_RECOVERY = "contract_recovery"
    COMPLETED_NO_FLUSH = "completed_no_flush"
    BUDGET_EXHAUSTED = "budget_exhausted"
    NONE = "none"


Route = Literal["same_session", "new_session", "nudge_then_new_session", "read_again", "stop", "accept"]

ROUTES: Mapping[RetryReason, Route] = {
    RetryReason.RESUME: "same_session",
    RetryReason.STALE: "same_session",
    RetryReason.EARLY_STOP: "same_session",
    RetryReason.EMPTY_OUTPUT: "new_session",
    RetryReason.ZERO_WRITES: "new_session",
    RetryReason.PATH_CONTAMINATION: "new_session",
    RetryReason.CONTRACT_RECOVERY: "nudge_then_new_session",
    RetryReason.COMPLETED_NO_FLUSH: "read_again",
    RetryReason.BUDGET_EXHAUSTED: "stop",
    RetryReason.NONE: "accept",
}
"""Where each reason leads. `read_again`: the work is done and only its last record is missing; the session is
resumed for its report, nothing is redone."""


class Attempt(Value):
    """Facts of the attempt that the turn alone does not show."""

    wants_writes: bool = False
    """The task is to change files, so a turn without any write did no work."""
    nudged: bool = False
    """The one nudge of this attempt was used."""
    failures: int = 0
    """Consecutive failures of this step, this one included; durable over restarts."""


class Recovery(Value):
    """What to do about a contract check."""

    step: Literal["accept", "nudge", "retry", "stop"]
    reason: RetryReason
    outcome: Outcome
    message: str = ""
    """The nudge's text, when `step` is `nudge`."""


def recover(
    contract: Contract, check: ContractCheck, turn: Turn, ledger: Ledger, attempt: Attempt, *, limits: Limits = LIMITS
) -> Recovery:
    """The next rung for this check."""
    reason = retry_reason(turn, ledger, attempt, contract=contract, check=check, limits=limits)
    if reason is RetryReason.NONE:
        return Recovery(step="accept", reason=reason, outcome=Outcome.SUCCEEDED)
    if reason is RetryReason.BUDGET_EXHAUSTED:
        return Recovery(step="stop", reason=reason, outcome=Outcome.FAILED)
    if _may_nudge(check, turn, ledger, attempt):
        return Recovery(step="nudge", reason=reason, outcome=Outcome.RETRIABLE, message=nudge_message(contract, check))
    return Recovery(step="retry", reason=reason, outcome=Outcome.RETRIABLE)


def retry_reason(
    turn: Turn,
    ledger: Ledger,
    attempt: Attempt,
    *,
    contract: Contract | None = None,
    check: ContractCheck | None = None,
    deferred: bool = False,
    limits: Limits = LIMITS,
) -> RetryReason:
    """Why this turn should be tried again; `deferred` when its last words only announce what comes next.

    Write evidence overrules every verdict that no work was done.
    """
    if check is not None and check.content is Content.COMPLETE:
        return RetryReason.NONE
    if attempt.failures > limits.consecutive_failures:
        return RetryReason.BUDGET_EXHAUSTED
    if check is not None and check.outside:
        return RetryReason.PATH_CONTAMINATION
    if turn.ended in (Ended.TIMED_OUT, Ended.KILLED, Ended.CRASHED, Ended.UNKNOWN) and contract is not None:
        late = check_contract(contract, replace(turn, ended=Ended.FINISHED), paths={})
        if not any(p.wrong == "missing" or p.name == "json" for p in late.problems) and late.body:
            return RetryReason.COMPLETED_NO_FLUSH
    if turn.ended is Ended.TIMED_OUT:
        return RetryReason.STALE
    if turn.ended is not Ended.FINISHED:
        return RetryReason.RESUME
    if not turn.final_text and not ledger.writes:
        return RetryReason.EMPTY_OUTPUT
    if attempt.wants_writes and not ledger.writes:
        return RetryReason.ZERO_WRITES
    if deferred or not turn.final_text:
        return RetryReason.EARLY_STOP
    if check is not None:
        return RetryReason.CONTRACT_RECOVERY
    return RetryReason.NONE


def nudge_message(contract: Contract, check: ContractCheck) -> str:
    """Name every missing token and its type; the value must come from the agent, so it is never handed over."""
    types = {token.name: token for token in contract.tokens}
    lines = ["The work of this session is not in question; its report is incomplete. Reply with these lines only:"]
    for problem in check.problems:
        token = types.get(problem.name)
        if token is not None:
            lines.append(f"{token.name} = <{_TYPE_WORDS[token.type].format(choices=' | '.join(token.choices))}>")
        elif problem.name == "json":
            lines.append(f"the JSON object that was asked for ({problem.wrong})")
    if contract.marker:
        lines.append(f"and, alone on the last line, {contract.marker}")
    lines.append("Run nothing and change nothing.")
    return "\n".join(lines)


def merge_nudge(
    contract: Contract,
    check: ContractCheck,
    original: Turn,
    nudge: Turn,
    *,
    paths: Mapping[str, PathFacts] | None = None,
) -> tuple[ContractCheck, Turn]:
    """The original turn completed by the nudge's answer, or exactly the original where the answer does not do.

    The answer goes through the ordinary validator, together with what the original had said. Tokens of both turns
    are added up per model, because both were paid for.
    """
    paid = replace(
        original,
        usage=original.usage + nudge.usage,
        usage_by_model=merge_usage(original.usage_by_model, nudge.usage_by_model),
        cost_usd=_sum(original.cost_usd, nudge.cost_usd),
    )
    if nudge.ended is not Ended.FINISHED:
        return check, paid
    both = replace(paid, events=(*original.events, *nudge.events))
    answered = check_contract(contract, both, paths=paths)
    if answered.content is not Content.COMPLETE:
        return replace(check, refused=answered.problems), paid
    body = check.body or original.final_text
    return replace(answered, recovered_by="nudge", body=body), both


def merge_usage(one: Mapping[str, Usage], other: Mapping[str, Usage]) -> dict[str, Usage]:
    """Tokens of both, per model."""
    return {model: one.get(model, Usage()) + other.get(model, Usage()) for model in {**one, **other}}


def _may_nudge(check: ContractCheck, turn: Turn, ledger: Ledger, attempt: Attempt) -> bool:
    return (
        turn.ended is Ended.FINISHED
        and check.content is Content.CONTRACT_VIOLATION
        and not check.outside
        and bool(ledger.writes)
        and bool(turn.session_id)
        and not attempt.nudged
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)


_TYPE_WORDS: Mapping[str, str] = {
    "path": "absolute path of the file",
    "verdict": "one of: {choices}",
    "number": "a number",
    "text": "text",
}
