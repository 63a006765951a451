"""Why did the agent stop, and is a claimed completion to be accepted?

Process facts first, then the ledger, the words last. `Stop.kind` is the best guess and `Stop.confidence` says how
sure it is; turning a guess below `limits.sure` into a question for a person is left to `decide`.
"""

from __future__ import annotations

from touchline.supervision.claim_check import check_claims, counts
from touchline.supervision.claims import Hedges, claims_in, hedges_in
from touchline.supervision.commands import names_in
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.phrases import pattern
from touchline.supervision.prepared import shape
from touchline.supervision.proof import Shown, proof_in
from touchline.supervision.prose import read
from touchline.supervision.question_block import questions_in
from touchline.supervision.stops import CHECKED, Claim, Kind, Rejection, Standing, Stop
from touchline.supervision.values import replace
from touchline.supervision.weigh import Weighed, abnormal, is_work, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from touchline.supervision.judge import Judge

_ABNORMAL = frozenset({Ended.CRASHED, Ended.API_ERROR, Ended.KILLED, Ended.TIMED_OUT, Ended.INTERRUPTED})
_OF_THE_WORK = frozenset({"fixed", "implemented", "verified", "file_created"})
_CHANGES = frozenset({"fixed", "implemented", "file_created"})
_LEAVES_A_TRACE = frozenset({"tests_pass", "committed", "pushed", "pr_opened"})
_MAY_TEST = shape(r"(?i)test|check|spec|verif|(?<![^\s/])ci(?:\.\w+)?(?![\w./-])")


def classify(
    text: str,
    *,
    ledger: Ledger | None = None,
    ended: Ended = Ended.FINISHED,
    task: str = "",
    phase_missing: Sequence[str] = (),
    first_call: int = 0,
    open_since: int | None = None,
    judge: Judge | None = None,
    limits: Limits = LIMITS,
) -> Stop:
    """Tell the kind of stop from how the turn ended, what it did, and what it says.

    Without a ledger the text is judged alone, and a completion is accepted only when the text names a check
    and its outcome. `phase_missing` is the evidence that the task's phase demands and lacks. `first_call` is the
    index of this turn's first call, where the ledger began with an earlier turn; `open_since` that of the first call
    whose edits this stop answers for, where a task goes on over several turns. `judge` is asked
    only below `limits.sure`; whatever goes wrong with it, the rules stand and `note` says so.
    """
    if ended in _ABNORMAL:
        # An interrupted turn was stopped by a person: like a crash it must not be continued behind their back.
        return Stop(kind=Kind.ERROR, confidence=1.0, reason=f"ended_{ended.value}")
    if not text.strip():
        return Stop(kind=Kind.STATUS, confidence=1.0, reason="empty")
    if ended is not Ended.LIMIT and (asked := questions_in(text)):
        return Stop(kind=Kind.QUESTION, confidence=1.0, reason="question_block", spans=asked)
    prose = read(text)
    claims = claims_in(prose)
    if ended is not Ended.LIMIT and (span := abnormal(prose, claims)):
        return Stop(kind=Kind.ERROR, confidence=0.95, reason="error_text", spans=(span,))
    hedges = hedges_in(prose)
    now = None if ledger is None else ledger.since(first_call)
    shown = proof_in(prose, task=task)
    if ledger is not None:
        claims = _of_this_turn(check_claims(claims, ledger, prose), now, first_call)
    if ended is Ended.LIMIT:
        weighed = Weighed(kind=Kind.STATUS, confidence=1.0, reason="ended_limit")
    else:
        weighed = weigh(prose, claims, task=task, ledger=now)
    stop = Stop(
        kind=weighed.kind,
        confidence=weighed.confidence,
        reason=weighed.reason,
        spans=weighed.spans,
        claims=claims,
        hedges=hedges.all,
        admitted=hedges.unchecked,
        proof_shown=shown.all,
    )
    if judge is not None and stop.confidence < limits.sure:
        stop = _asked(stop, judge, text=text, task=task)
    if stop.kind is not Kind.COMPLETION:
        return stop
    answer = weighed.reason == "answer"
    if ledger is not None:
        idle = ledger.changed_nothing and is_work(task) and not pattern("guards.unneeded").search(prose.words)
        said = _not_told(stop.claims, task) if weighed.told else stop.claims
        stop = replace(stop, claims=tuple(_traced(claim, ledger, idle=idle) for claim in said))
    at_issue = now if ledger is None or open_since is None else ledger.since(min(open_since, first_call))
    only_words = ledger is not None and ledger.calls <= first_call
    lacks = tuple(phase_missing)
    return _gated(stop, ledger, at_issue, hedges, shown, answer=answer, only_words=only_words, phase_missing=lacks)


def _asked(stop: Stop, judge: Judge, *, text: str, task: str) -> Stop:
    from touchline.supervision.judge import Question, fault_of

    question = Question(text=text, task=task, guess=stop.kind, confidence=stop.confidence, reason=stop.reason)
    try:
        verdict = judge(question)
        fault = fault_of(verdict, text)
    except Exception as error:
        return replace(stop, note=f"The judge could not be asked ({type(error).__name__}: {error}); the rules stand.")
    if fault:
        return replace(stop, note=f"The judge was not believed: {fault}; the rules stand.")
    if verdict.kind is Kind.COMPLETION and any(c.standing is Standing.CONTRADICTED for c in stop.claims):
        note = "The judge saw a completion, but the record contradicts a claim; the rules stand."
        return replace(stop, note=note)
    return replace(
        stop,
        kind=verdict.kind,
        confidence=float(verdict.confidence),
        reason="judged",
        missing=tuple(verdict.missing),
        judged_by="model",
    )


def _of_this_turn(claims: tuple[Claim, ...], now: Ledger | None, first_call: int) -> tuple[Claim, ...]:
    """What went wrong in an earlier turn contradicts a claim about the work only where this turn worked on it."""
    if first_call == 0 or now is None or now.writes:
        return claims
    return tuple(
        replace(c, standing=Standing.UNPROVED)
        if c.standing is Standing.CONTRADICTED and c.what in _OF_THE_WORK and c.call is not None and c.call < first_call
        else c
        for c in claims
    )


def _gated(
    stop: Stop,
    ledger: Ledger | None,
    at_issue: Ledger | None,
    hedges: Hedges,
    shown: Shown,
    *,
    answer: bool,
    only_words: bool,
    phase_missing: tuple[str, ...],
) -> Stop:
    """Say whether the completion is accepted, and what would prove it."""
    rejected: list[Rejection] = []
    missing: list[str] = []
    for claim in stop.claims:
        if claim.standing is Standing.CONTRADICTED:
            if "contradicted_claim" not in rejected:
                rejected.append("contradicted_claim")
            _once(missing, f'a result that bears out "{_cut(claim.words)}": {claim.because}')
    if ledger is None or at_issue is None:
        rejected += _unshown(hedges, shown, answer=answer)
    else:
        rejected += _unrecorded(stop.claims, ledger, at_issue, hedges, answer=answer, only_words=only_words)
    if phase_missing:
        rejected.append("phase_evidence_missing")
    for why in rejected:
        if why == "unverified_edits" and ledger is not None:
            if failing := ledger.failing_run:
                _once(missing, f"tests that pass: {failing.named} ran {failing.runner}: {counts(failing)}")
            else:
                _once(missing, f"a test, build or run of the work after the last change (call {ledger.last_edit})")
        elif why == "tests_weakened" and ledger is not None and ledger.weakened is not None:
            weakened = ledger.weakened
            _once(
                missing, f"the tests as they were before call {weakened.call}, or why they changed ({weakened.detail})"
            )
        elif why == "unproved_claim" and ledger is not None:
            for claim in stop.claims:
                if claim.untraced:
                    _once(missing, f'what bears out "{_cut(claim.words)}": {claim.because}')
        elif why == "hedged_only":
            hedge = next(iter((*hedges.outcome, *hedges.unchecked)), None)
            _once(missing, f'a check of what "{_cut(hedge.text)}" leaves open' if hedge else "a check and its outcome")
        elif why == "no_proof_shown":
            _once(missing, "the check that was run and its outcome")
        elif why == "phase_evidence_missing":
            for item in phase_missing:
                _once(missing, item)
    # A model may add to what is missing; it can never shorten the list.
    for item in stop.missing:
        _once(missing, item)
    lacking = phase_missing if rejected else ()
    return replace(stop, rejected=tuple(rejected), missing=tuple(missing) if rejected else (), lacking=lacking)


def _unrecorded(
    claims: Sequence[Claim], ledger: Ledger, at_issue: Ledger, hedges: Hedges, *, answer: bool, only_words: bool
) -> list[Rejection]:
    concerned = at_issue.worked or (not answer and _taken_up(claims, at_issue, only_words=only_words))
    if concerned and ledger.last_edit is not None and not ledger.verified_after_last_edit:
        unverified: list[Rejection] = ["unverified_edits"]
        return [*unverified, "hedged_only"] if hedges.outcome else unverified
    if ledger.weakened is not None and concerned:
        return ["tests_weakened"]
    if any(claim.untraced for claim in claims):
        return ["unproved_claim"]
    if ledger.writes or answer or ledger.did_something:
        return []
    # Nothing was done but looking, yet work is claimed: words are all there is.
    if not any(c.what in _CHANGES for c in claims):
        return []
    return ["hedged_only"] if hedges.outcome else ["no_proof_shown"]


def _taken_up(claims: Sequence[Claim], now: Ledger, *, only_words: bool) -> bool:
    """Whether claims of a turn are about edits from before it, which a person has been told of since.

    That something was checked always is. Who did nothing in this turn only tells again what was done; who did something
    of another kind, such as a commit or a change of documents, speaks of that.
    """
    said = {claim.what for claim in claims}
    if said & CHECKED or only_words:
        return bool(said & CHECKED)
    written = any(write.how != "git" for write in now.writes)
    return ("fixed" in said and not written) or (bool(said & _CHANGES) and not now.did_something)


def _not_told(claims: Sequence[Claim], task: str) -> list[Claim]:
    """Of an answer: what the record bears out or denies, and that tests pass, where it was asked: a run alone can tell.

    The rest is told of others or of another day, and claims nothing.
    """
    asks_for_tests = bool(_MAY_TEST.search(task))
    return [c for c in claims if c.standing is not Standing.UNPROVED or (asks_for_tests and c.what == "tests_pass")]


def _traced(claim: Claim, ledger: Ledger, *, idle: bool) -> Claim:
    """The claim, marked when the record always shows such a deed and shows none.

    A script of the project's own may be its tests, whatever it prints. `idle`: work was ordered, and for certain
    nothing was changed, so whatever is claimed to be changed is not.
    """
    if claim.standing is not Standing.UNPROVED:
        return claim
    if idle and claim.what in _CHANGES:
        return replace(claim, untraced=True, because="no file was changed", call=None)
    if claim.call is not None:
        return claim
    if claim.what == "tests_pass":
        untraced = not any(_MAY_TEST.search(names_in(c.text)) for c in ledger.after_last_edit)
    else:
        untraced = claim.what in _LEAVES_A_TRACE or (claim.what == "file_created" and ledger.watched)
    return replace(claim, untraced=True) if untraced else claim


def _unshown(hedges: Hedges, shown: Shown, *, answer: bool) -> list[Rejection]:
    if answer or shown.strong:
        return []
    # One green linter beside "should work now" leaves the work itself open.
    doubtful = bool(hedges.unchecked or (hedges.outcome and len(shown.weak) < 2))
    if shown.weak and not doubtful:
        return []
    return ["hedged_only"] if hedges.outcome else ["no_proof_shown"]


def _once(missing: list[str], item: str) -> None:
    if item not in missing:
        missing.append(item)


def _cut(said: str) -> str:
    words = " ".join(said.split())
    return words if len(words) <= 60 else words[:57] + "..."
