"""What happened in each session of a log?

Replays the turns through the same rules that supervise a live agent, and keeps what they say. Holds one turn at a
time; nothing is judged here that `supervision` does not judge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from touchline.audit.calls import call_line, call_list
from touchline.audit.findings import ClaimFinding, LoopFinding, SessionFinding, TurnFinding, Verdict
from touchline.audit.shown import evidence_shown
from touchline.audit.spending import Spending
from touchline.audit.visible import cut, sentence_around
from touchline.supervision.decide import decide
from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Step, Turn, Unread, Usage, steps_of
from touchline.supervision.ledger import ledger_of
from touchline.supervision.phases import Phase, missing_evidence, phase_of
from touchline.supervision.situation import Action, Situation, Work
from touchline.supervision.steering import refusal, reminder
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind, Standing, Stop
from touchline.supervision.thrash import Rule, Thrash, ThrashWatch

PROMPT_CHARS = 300
FINAL_CHARS = 900
CLAIM_CHARS = 240
_MAX_CLAIMS = 12
TO_THE_AGENT = frozenset({Action.CONTINUE, Action.STEER, Action.NUDGE})
"""Decisions whose message goes to the agent; that of others goes to a person."""


def audit_turns(turns: Iterable[Turn], *, path: str = "", with_calls: bool = False) -> list[SessionFinding]:
    """The sessions of a log, in the order they first appear. `with_calls` also lists every call."""
    sessions: dict[tuple[str, str | None], _Session] = {}
    for turn in turns:
        key = (turn.cli, turn.session_id)
        if key not in sessions:
            sessions[key] = _Session(agent=turn.cli, id=turn.session_id or "", path=path, with_calls=with_calls)
        sessions[key].add(turn)
    return [session.finding() for session in sessions.values()]


@dataclass(slots=True)
class _Session:
    """What the rules remember from turn to turn, and what is reported."""

    agent: str
    id: str
    path: str
    with_calls: bool
    project: str | None = None
    ledger: Ledger = field(default_factory=Ledger)
    watch: ThrashWatch = field(default_factory=ThrashWatch)
    phase: Phase | None = None
    spending: Spending = field(default_factory=Spending)
    calls: int = 0
    turns: list[TurnFinding] = field(default_factory=list)
    loops: list[tuple[Thrash, int, str, int]] = field(default_factory=list)
    """Each loop as first recognised, its turn, its call in one line, and the last call it was seen at."""
    models: dict[str, None] = field(default_factory=dict)

    def add(self, turn: Turn) -> None:
        steps = steps_of(turn, first=self.calls)
        self.ledger = ledger_of(turn, before=self.ledger)
        self.phase = phase_of(turn.prompt) or self.phase
        self.project = self.project or turn.cwd
        self.spending.add(turn, first_call=self.calls)
        going_on, warnings = self._watch(turn, steps)
        stop = classify(
            turn.final_text,
            ledger=self.ledger,
            ended=turn.ended,
            task=turn.prompt,
            phase_missing=missing_evidence(self.phase, self.ledger) if self.phase else (),
            first_call=self.calls,
        )
        decision = decide(
            Situation(
                stop=stop,
                ended=turn.ended,
                fault=turn.fault,
                ledger=self.ledger,
                thrash=going_on,
                work=Work(task=turn.prompt, phase=self.phase),
            )
        )
        for model in (turn.model, *turn.usage_by_model):
            if model:
                self.models[model] = None
        self.turns.append(
            TurnFinding(
                number=len(self.turns) + 1,
                started_at=turn.started_at,
                ended_at=turn.ended_at,
                prompt=cut(turn.prompt, PROMPT_CHARS),
                final_text=cut(turn.final_text, FINAL_CHARS),
                ended=turn.ended.value,
                end_detail=cut(turn.end_detail, CLAIM_CHARS),
                kind=stop.kind.value,
                confidence=stop.confidence,
                kind_reason=stop.reason,
                claims=_claims(stop, turn.final_text),
                hedges=tuple(cut(hedge.text, CLAIM_CHARS) for hedge in stop.hedges[:_MAX_CLAIMS]),
                rejected=stop.rejected,
                missing=stop.missing,
                verdict=verdict_of(stop, self.ledger, first_call=self.calls),
                evidence=evidence_shown(self.ledger, first_call=self.calls),
                action=decision.action.value,
                reason=decision.reason.value,
                coaching=decision.message if decision.action in TO_THE_AGENT else "",
                notice="" if decision.action in TO_THE_AGENT else decision.message,
                warnings=warnings,
                model=turn.model,
                first_call=self.calls,
                calls=len(steps),
                failed_calls=sum(step.failed for step in steps),
                usage=turn.usage,
                cost_usd=turn.cost_usd,
                unread=sum(isinstance(event, Unread) for event in turn.events),
                cut=turn.cut,
                call_list=call_list(steps) if self.with_calls else (),
            )
        )
        self.calls += len(steps)

    def _watch(self, turn: Turn, steps: tuple[Step, ...]) -> tuple[Thrash | None, tuple[str, ...]]:
        """Feed the turn to the watch; the loop still going on at its end, and the warnings given."""
        watch, going_on = self.watch, None
        warnings: dict[Rule, str] = {}
        if turn.prompt:
            watch.told()
        for step in steps:
            loops = []
            for found in (watch.before(step.call, index=step.index), watch.after(step)):
                if found is not None and found.grade == "loop":
                    loops.append(found)
                elif found is not None:
                    warnings.setdefault(found.rule, found.message)
            for loop in loops:
                self._note(loop, call_line(step.call))
            going_on = loops[-1] if loops else None
        closing = watch.said(turn.final_text)
        if closing is not None:
            self._note(closing, "the same closing message")
        return closing or going_on, tuple(warnings.values())

    def _note(self, loop: Thrash, call: str) -> None:
        """Remember a loop once: while it lasts, it is found again at every call."""
        if self.loops:
            last, turn, line, reached = self.loops[-1]
            if loop.began <= reached and loop.rule is not Rule.SAME_MESSAGE:
                self.loops[-1] = (last, turn, line, loop.at)
                return
        self.loops.append((loop, len(self.turns) + 1, call, loop.at))

    def finding(self) -> SessionFinding:
        loops = tuple(self._loop(found, turn, call) for found, turn, call, _ in self.loops)
        wasted, wasted_cost = self.spending.over((loop.began, loop.turn) for loop in loops)
        usage = sum((turn.usage for turn in self.turns), Usage())
        times = [t for turn in self.turns for t in (turn.started_at, turn.ended_at) if t is not None]
        return SessionFinding(
            id=self.id,
            agent=self.agent,
            project=self.project,
            path=self.path,
            models=tuple(self.models),
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            turns=tuple(self.turns),
            loops=loops,
            usage=usage,
            cost_usd=_known(turn.cost_usd for turn in self.turns),
            tokens_wasted=wasted,
            cost_wasted_usd=wasted_cost,
            calls=self.calls,
            unread=sum(turn.unread for turn in self.turns),
        )

    def _loop(self, thrash: Thrash, turn: int, call: str) -> LoopFinding:
        tokens, cost = self.spending.over([(thrash.began, turn)])
        return LoopFinding(
            turn=turn,
            rule=thrash.rule.value,
            began=thrash.began,
            recognised=thrash.at,
            refused=thrash.refused,
            call=call,
            message=thrash.message,
            coaching=refusal(thrash) if thrash.refused else reminder(thrash) or "",
            tokens_after=tokens,
            cost_after_usd=cost,
        )


def verdict_of(stop: Stop, ledger: Ledger, *, first_call: int) -> Verdict | None:
    """How a claimed completion stands, from the claims and the ledger that `classify` judged."""
    if stop.kind is not Kind.COMPLETION:
        return None
    if "contradicted_claim" in stop.rejected:
        return Verdict.CONTRADICTED
    if stop.rejected:
        return Verdict.UNPROVED
    changed = any(write.call >= first_call for write in ledger.writes)
    if any(claim.standing is Standing.PROVED for claim in stop.claims) or (changed and not stop.claims):
        return Verdict.PROVED
    return Verdict.UNPROVED if stop.claims else Verdict.NOTHING_TO_PROVE


def _claims(stop: Stop, text: str) -> tuple[ClaimFinding, ...]:
    return tuple(
        ClaimFinding(
            what=claim.what,
            text=cut(claim.span.text, CLAIM_CHARS),
            quote=cut(sentence_around(text, claim.span.start, claim.span.end), CLAIM_CHARS),
            standing=claim.standing.value,
            because=claim.because,
            call=claim.call,
        )
        for claim in stop.claims[:_MAX_CLAIMS]
    )


def _known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
