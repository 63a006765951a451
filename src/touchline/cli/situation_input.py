"""Which situation does this JSON describe? (`touchline.situation/1`, documented in the reference)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from touchline.cli.fields import Fields
from touchline.digests import digest
from touchline.errors import SituationError
from touchline.supervision.budgets import Budget, Spending
from touchline.supervision.coach import Plan
from touchline.supervision.contract import Contract, ContractCheck, PathFacts, Token, TokenType, check_contract
from touchline.supervision.facts import Call, Ended, Event, Fault, FaultKind, Prompt, Result, Text, Turn, steps_of
from touchline.supervision.ledger import ledger_of
from touchline.supervision.limits import BOUNDS, LIMITS, Limits
from touchline.supervision.phases import missing_evidence, phase_of, phases
from touchline.supervision.recovery import Attempt, Recovery, recover
from touchline.supervision.schema import schema_fault
from touchline.supervision.situation import Situation, Work
from touchline.supervision.stop import classify
from touchline.supervision.thrash import current_loop
from touchline.supervision.values import Value, names_of, replace
from touchline.transcripts.read import CLIS, read_turn

SCHEMA = "touchline.situation/1"


class Described(Value):
    """The situation, and the turn it rests on."""

    situation: Situation
    turn: Turn
    limits: Limits


def describe(told: Any, *, limits: Limits = LIMITS) -> Described:
    """Build the situation. Raises `SituationError` with the path of the first field that is wrong.

    `limits` hold where the situation names none of its own.
    """
    top = Fields(told)
    top.one_of("schema", [SCHEMA], SCHEMA)
    limits = _limits(top.inner("limits"), limits)
    task = top.text("task", "")
    turn = _turn(top, task)
    workflow_phase = top.optional_text("phase")
    if workflow_phase is not None and workflow_phase not in phases():
        raise SituationError("phase", f"is {workflow_phase!r}. Known: {', '.join(phases())}.")
    phase = phase_of(task, workflow_phase)
    ledger = ledger_of(turn)
    stop = classify(
        turn.final_text,
        # Without calls nothing is known of what was done: the text is judged alone.
        ledger=ledger if {"stream", "calls"} & top.given else None,
        ended=turn.ended,
        task=task,
        phase_missing=missing_evidence(phase, ledger) if phase else (),
        limits=limits,
    )
    check, recovery = _contract(top.inner("contract"), turn, limits)
    situation = Situation(
        stop=stop,
        ended=turn.ended,
        fault=turn.fault,
        ledger=ledger,
        delivered=top.flag("delivered"),
        budget=_budget(top.inner("budget")),
        spending=_spending(top.inner("spent")),
        reviewer=top.flag("reviewer"),
        contract=check,
        recovery=recovery,
        thrash=current_loop(steps_of(turn), limits=limits),
        work=Work(
            task=task,
            phase=phase,
            plan=_plan(top.inner("plan")),
            workflow_id=top.optional_text("workflow_id"),
            continuations=top.count("continuations"),
            same_rejections=top.count("same_rejections"),
            last_rejection=top.texts("last_rejection"),
            steered=top.count("steered"),
            reviewed=top.count("reviewed"),
            provider_retries=top.count("provider_retries"),
        ),
    )
    top.done()
    return Described(situation=situation, turn=turn, limits=limits)


def _turn(top: Fields, task: str) -> Turn:
    stream = top.texts("stream")
    exit_code = top.optional_whole("exit_code")
    if "stream" in top.given:
        turn = read_turn(stream, cli=top.one_of("cli", CLIS, "claude"), exit_code=exit_code)
        for name in ("text", "ended", "calls", "fault", "session_id"):
            if name in top.given:
                raise SituationError(name, "does not go with `stream`, which says it already.")
        return turn
    events: list[Event] = [Prompt(text=task)] if task else []
    for number, (path, told) in enumerate(top.items("calls")):
        events += _call(Fields(told, path), number)
    fault = _fault(top.inner("fault"))
    text = top.text("text", "")
    events += [Text(text=text)] if text else []
    events += [fault] if fault else []
    return Turn(
        cli=top.text("cli", "other"),
        session_id=top.optional_text("session_id"),
        events=tuple(events),
        ended=_ended(top, exit_code),
        exit_code=exit_code,
    )


def _ended(top: Fields, exit_code: int | None) -> Ended:
    """A process that failed has crashed, unless the caller knows better; that it finished cannot be one of them."""
    crashed = exit_code not in (None, 0)
    ended = top.choice("ended", Ended, Ended.CRASHED if crashed else Ended.FINISHED)
    if crashed and ended is Ended.FINISHED:
        raise SituationError("ended", f"is 'finished', but `exit_code` is {exit_code}.", hint="One of them is wrong.")
    return ended


def _call(each: Fields, number: int) -> list[Event]:
    call_id = str(number)
    events: list[Event] = [Call(id=call_id, tool=each.text("tool"), args=each.mapping("args"))]
    result = each.inner("result")
    if result is not None:
        text, code = result.text("text", ""), result.optional_whole("exit_code")
        failed = result.flag("failed", default=code not in (None, 0))
        events.append(Result(call_id=call_id, text=text, digest=digest(text), failed=failed, exit_code=code))
        result.done()
    each.done()
    return events


def _fault(given: Fields | None) -> Fault | None:
    if given is None:
        return None
    kind = given.one_of("kind", get_args(FaultKind), "other")
    fault = Fault(
        kind=kind,  # type: ignore[arg-type]
        message=given.text("message", ""),
        status=given.optional_whole("status"),
        fatal=True,
    )
    given.done()
    return fault


def _contract(given: Fields | None, turn: Turn, limits: Limits) -> tuple[ContractCheck, Recovery] | tuple[None, None]:
    if given is None:
        return None, None
    tokens: list[Token] = []
    for path, told in given.items("tokens"):
        each = Fields(told, path)
        kind = each.one_of("type", get_args(TokenType), "text")
        token = Token(name=each.text("name"), type=kind, choices=each.texts("choices"))  # type: ignore[arg-type]
        if kind == "verdict" and not token.choices:
            raise SituationError(f"{path}.choices", "is empty, but a verdict needs the words it may be.")
        tokens.append(token)
        each.done()
    schema = given.mapping("schema") or None
    if schema is not None and (wrong := schema_fault(schema)):
        raise SituationError(given.at("schema"), wrong)
    contract = Contract(tokens=tuple(tokens), marker=given.optional_text("marker"), schema=schema)
    paths: dict[str, PathFacts] = {}
    for name, told in given.mapping("paths").items():
        each = Fields(told, f"{given.at('paths')}.{name}")
        paths[name] = PathFacts(exists=each.flag("exists"), inside=each.flag("inside"), fresh=each.flag("fresh"))
        each.done()
    attempt = Attempt(
        wants_writes=given.flag("wants_writes"), nudged=given.flag("nudged"), failures=given.count("failures")
    )
    observed = given.flag("observed", default=True)
    given.done()
    ledger = ledger_of(turn)
    check = check_contract(contract, turn, paths=paths, ledger=ledger, observed=observed)
    return check, recover(contract, check, turn, ledger, attempt, limits=limits)


def _budget(given: Fields | None) -> Budget:
    if given is None:
        return Budget()
    budget = Budget(
        turns=given.optional_whole("turns"),
        tokens=given.optional_whole("tokens"),
        usd=given.optional_number("usd"),
        seconds=given.optional_number("seconds"),
        failures=given.optional_whole("failures"),
    )
    given.done()
    return budget


def _spending(given: Fields | None) -> Spending:
    if given is None:
        return Spending()
    spending = Spending(
        turns=given.count("turns"),
        tokens=given.count("tokens"),
        usd=given.optional_number("usd", 0.0),
        seconds=given.optional_number("seconds", 0.0) or 0.0,
        failures=given.count("failures"),
    )
    given.done()
    return spending


def _plan(given: Fields | None) -> Plan | None:
    if given is None:
        return None
    plan = Plan(path=given.text("path"), text=given.optional_text("text"))
    given.done()
    return plan


def _limits(given: Fields | None, usual: Limits) -> Limits:
    """Only plain numbers can be given; each keeps the type it has."""
    if given is None:
        return usual
    changed: Mapping[str, Any] = {}
    for name in names_of(Limits):
        default = getattr(usual, name)
        if isinstance(default, tuple):
            continue
        number = given.optional_number(name, float(default))
        if number is None:
            raise SituationError(given.at(name), "is null, but must be a number.")
        if number < 0 or (isinstance(default, int) and number != int(number)):
            kind = "whole number" if isinstance(default, int) else "number"
            raise SituationError(given.at(name), f"is {number:g}, but must be a {kind} that is not negative.")
        least, most = BOUNDS.get(name, (number, number))
        if not least <= number <= most:
            raise SituationError(given.at(name), f"is {number:g}, but must be from {least:g} to {most:g}.")
        changed = {**changed, name: type(default)(number)}
    given.done()
    return replace(usual, **changed)
