"""What should happen after this turn? The one decision, taken in one place; the first row that matches wins."""

from __future__ import annotations

from touchline.supervision.budgets import Resource, exhausted
from touchline.supervision.facts import TRANSIENT, Ended
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.situation import Action, Decision, Delivery, Reason, Situation, Work
from touchline.supervision.stops import Kind, Standing
from touchline.supervision.values import assert_never, replace

_BROKEN = {
    Ended.CRASHED: (Reason.CRASHED, "The agent's process ended without its final record."),
    Ended.API_ERROR: (Reason.API_ERROR, "The model provider returned an error."),
    Ended.KILLED: (Reason.KILLED, "The agent was ended from outside."),
    Ended.TIMED_OUT: (Reason.TIMED_OUT, "The agent was ended at its time limit."),
    Ended.INTERRUPTED: (Reason.INTERRUPTED, "The agent was interrupted."),
    Ended.UNKNOWN: (Reason.END_UNKNOWN, "How the turn ended is not known."),
}


def decide(situation: Situation, *, limits: Limits = LIMITS) -> Decision:
    """Decide about a stop. Pure: the same situation always gives the same decision."""
    situation = _with_declared_end(_with_fresh_counters(situation))
    return (
        _already_delivered(situation)
        or _broken(situation, limits)
        or _out_of_budget(situation, limits)
        or _contract(situation, limits)
        or _thrash(situation)
        or _needs_a_person(situation, limits)
        or _continue_or_deliver(situation, limits)
    )


def _with_fresh_counters(s: Situation) -> Situation:
    """What was counted for a loop or an outage that is over no longer counts."""
    work = s.work
    if s.thrash is None:
        work = replace(work, steered=0, reviewed=0)
    if s.fault is None:
        work = replace(work, provider_retries=0)
    return replace(s, work=work)


def _with_declared_end(s: Situation) -> Situation:
    """A kept contract says that the work is complete, which ranks above prose that merely sounds unfinished.

    It does not rank above the ledger: edits nobody verified are sent back all the same.
    """
    if not _kept_contract(s) or s.stop.kind not in (Kind.STATUS, Kind.COMPLETION):
        return s
    rejected = s.stop.rejected
    if s.stop.kind is Kind.STATUS and s.ledger.last_edit is not None and not s.ledger.verified_after_last_edit:
        rejected = ("unverified_edits",)
    return replace(s, stop=replace(s.stop, kind=Kind.COMPLETION, confidence=1.0, rejected=rejected))


def _kept_contract(s: Situation) -> bool:
    if s.contract is None:
        return False
    from touchline.supervision.contract import Content

    return s.contract.content is Content.COMPLETE


def _already_delivered(s: Situation) -> Decision | None:
    if not s.delivered:
        return None
    return Decision(action=Action.DROP, reason=Reason.ALREADY_DELIVERED, work=s.work)


def _broken(s: Situation, limits: Limits) -> Decision | None:
    """A turn that did not end by itself. Its prose is not read: an apology is no status."""
    fault = s.fault
    if s.ended in (Ended.API_ERROR, Ended.CRASHED) and fault is not None and fault.kind in TRANSIENT:
        tried = s.work.provider_retries
        if tried < len(limits.retry_delays):
            return Decision(
                action=Action.RETRY,
                reason=Reason.PROVIDER_FAULT,
                message=fault.message,
                session="same",
                delay_seconds=limits.retry_delays[tried],
                counts_as_attempt=False,
                work=replace(s.work, provider_retries=tried + 1),
            )
        return _deliver(s, Reason.PROVIDER_FAULT, "error", f"The provider fault did not pass: {fault.message}")
    if s.ended in _BROKEN:
        reason, words = _BROKEN[s.ended]
        detail = f" {fault.message}" if fault is not None else ""
        return _deliver(s, reason, "error", words + detail)
    if s.stop.kind is Kind.ERROR:
        return _deliver(s, Reason.ERROR_REPORTED, "error", "The agent's last message reports an abnormal end.")
    return None


def _out_of_budget(s: Situation, limits: Limits) -> Decision | None:
    used_up = exhausted(s.budget, s.spending)
    if not used_up and s.ended is not Ended.LIMIT:
        return None
    if s.ended is Ended.FINISHED and (_is_done(s, limits) or _wants_a_nudge_only(s, {e.resource for e in used_up})):
        return None
    reason = Reason.BUDGET_EXHAUSTED if used_up else Reason.LIMIT_REACHED
    words = "Budget used up: " + ", ".join(map(str, used_up)) if used_up else "The agent reached its own limit."
    missing = _open_points(s)
    if s.reviewer:
        return Decision(action=Action.REVIEW, reason=reason, message=words, missing=missing, work=s.work)
    if missing:
        words += f". Still open: {'; '.join(missing)}"
    return replace(_deliver(s, reason, "unresolved", words), missing=missing)


def _open_points(s: Situation) -> tuple[str, ...]:
    """What a stop still lacks, whatever ended it: proof, or lines of its report."""
    unkept = s.contract is not None and not _kept_contract(s)
    return (*(_problems(s) if unkept else ()), *s.stop.missing)


def _problems(s: Situation) -> tuple[str, ...]:
    if s.contract is None:
        return ()
    later = {
        each.name: f"; asked for it, {each.value} was given: {each.wrong}" for each in s.contract.refused if each.value
    }
    return tuple(f"{each.name} ({each.wrong}{later.get(each.name, '')})" for each in s.contract.problems)


def _is_done(s: Situation, limits: Limits) -> bool:
    """Nothing is left to be paid for: the last turn that was allowed came to its end."""
    stop, loops = s.stop, s.thrash is not None and s.thrash.grade == "loop"
    proved = stop.kind is Kind.COMPLETION and not stop.rejected and stop.confidence >= limits.sure
    return proved and not loops and (s.contract is None or _kept_contract(s))


def _wants_a_nudge_only(s: Situation, used_up: set[Resource]) -> bool:
    """A nudge asks for a line about work that is done, and is no turn of its own."""
    return used_up == {"turns"} and s.recovery is not None and s.recovery.step == "nudge"


def _contract(s: Situation, limits: Limits) -> Decision | None:
    if s.contract is None or _kept_contract(s) or s.recovery is None:
        return None
    if s.stop.kind in (Kind.QUESTION, Kind.BLOCKER) and s.stop.confidence >= limits.sure:
        return None  # it asks, so its report is not due yet
    from touchline.supervision.recovery import ROUTES, RetryReason

    missing = _problems(s)
    match s.recovery.step:
        case "accept":
            return None
        case "nudge":
            return Decision(
                action=Action.NUDGE,
                reason=Reason.CONTRACT_NUDGE,
                message=s.recovery.message,
                missing=missing,
                seconds_allowed=limits.nudge_seconds,
                counts_as_attempt=False,
                work=s.work,
            )
        case "retry":
            return Decision(
                action=Action.RETRY,
                reason=Reason.CONTRACT_RETRY,
                message=f"The output contract was not kept: {', '.join(missing) or s.recovery.reason}.",
                missing=missing,
                session="same" if ROUTES[s.recovery.reason] in ("same_session", "read_again") else "new",
                work=s.work,
            )
        case "stop":
            spent = s.recovery.reason is RetryReason.BUDGET_EXHAUSTED
            reason = Reason.BUDGET_EXHAUSTED if spent else Reason.CONTRACT_FAILED
            words = f"The output contract was not kept, and its retries are used up: {', '.join(missing)}."
            return replace(_deliver(s, reason, "unresolved", words), missing=missing)
        case _:  # pragma: no cover
            assert_never(s.recovery.step)


def _thrash(s: Situation) -> Decision | None:
    if s.thrash is None or s.thrash.grade != "loop":
        return None
    if s.work.steered == 0:
        from touchline.supervision.steering import reminder

        words = reminder(s.thrash) or s.thrash.message
        work = replace(s.work, steered=1)
        return Decision(action=Action.STEER, reason=Reason.THRASH_STEERED, message=words, work=work)
    if s.reviewer and s.work.reviewed == 0:
        work = replace(s.work, reviewed=1)
        return Decision(action=Action.REVIEW, reason=Reason.THRASH_REVIEWED, message=s.thrash.message, work=work)
    return _deliver(s, Reason.THRASH_STOPPED, "unresolved", s.thrash.message)


def _needs_a_person(s: Situation, limits: Limits) -> Decision | None:
    reason: Reason
    if s.stop.kind is Kind.QUESTION:
        reason = Reason.QUESTION
    elif s.stop.kind is Kind.BLOCKER:
        reason = Reason.BLOCKER
    elif s.stop.confidence < limits.sure:
        reason = Reason.UNSURE
    else:
        return None
    words = " ".join(span.text for span in s.stop.spans) or s.stop.reason
    return Decision(action=Action.ASK, reason=reason, message=words, missing=s.stop.missing, work=s.work)


def _continue_or_deliver(s: Situation, limits: Limits) -> Decision:
    stop = s.stop
    if stop.kind is Kind.COMPLETION and not stop.rejected:
        return _deliver(s, Reason.COMPLETED, "accepted", "")
    basis = _basis(s)
    repeated = s.work.same_rejections + 1 if basis and basis == s.work.last_rejection else 0
    if s.work.continuations >= limits.continue_cap:
        words = f"Still open after {s.work.continuations} continuations: {'; '.join(stop.missing) or stop.reason}."
        return replace(_deliver(s, Reason.CAP_REACHED, "unresolved", words), missing=stop.missing)
    if stop.rejected and repeated >= (1 if stop.honest else 2):
        said = "It was sent back, and the agent says itself that it could not check it."
        words = said if stop.honest else "The same completion was sent back twice and came again."
        words += f" Open: {'; '.join(stop.missing)}."
        return Decision(
            action=Action.ASK, reason=Reason.REJECTED_AGAIN, message=words, missing=stop.missing, work=s.work
        )
    from touchline.supervision.coach import coach

    coaching = coach(
        stop, ledger=s.ledger, phase=s.work.phase, plan=s.work.plan, rejections_before=repeated, limits=limits
    )
    return Decision(
        action=Action.CONTINUE,
        reason=Reason.COMPLETION_REJECTED if stop.rejected else Reason.STATUS,
        message=coaching.text,
        coaching=coaching,
        missing=stop.missing,
        work=replace(s.work, continuations=s.work.continuations + 1, same_rejections=repeated, last_rejection=basis),
    )


def _basis(s: Situation) -> tuple[str, ...]:
    """What a rejection rests on: the same reasons and the same kinds of open claims make it the same rejection.

    Not the wording of what is missing: that names calls, and every attempt makes new ones.
    """
    if not s.stop.rejected:
        return ()
    open_claims = {f"{c.what} {c.standing}" for c in s.stop.claims if c.standing is not Standing.PROVED}
    return (*s.stop.rejected, *sorted(open_claims))


def _deliver(s: Situation, reason: Reason, delivery: Delivery, words: str) -> Decision:
    work = Work(task=s.work.task, phase=s.work.phase, plan=s.work.plan, workflow_id=s.work.workflow_id)
    return Decision(action=Action.DELIVER, reason=reason, message=words, delivery=delivery, work=work)
