"""The agent stopped: may it, or is it sent back? Evidence from the transcript, the decision from `supervision`.

Only what the transcript has grown by is read; the ledger of all before it is kept between stops. The agent's own guard
against endless loops is never asked: continuations are counted here, until a person speaks.
"""

from __future__ import annotations

from touchline.hooks.dialects import Heard, answer
from touchline.hooks.evidence_kept import Evidence, gather
from touchline.hooks.limits_kept import limits_of
from touchline.hooks.memory import Memory, note
from touchline.supervision.decide import decide
from touchline.supervision.evidence import Ledger
from touchline.supervision.ledger import COMMAND_CHARACTERS
from touchline.supervision.phrases import pattern
from touchline.supervision.prepared import shape
from touchline.supervision.situation import Action, Decision, Reason, Situation, Work
from touchline.supervision.stop import classify
from touchline.supervision.weigh import ends_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from touchline.supervision.phases import Phase
    from touchline.supervision.stops import Stop

_SHOWN = frozenset({Reason.CAP_REACHED, Reason.REJECTED_AGAIN})
_ITEM = r"\s*(?:[-*•+]|\d{1,3}[.)])\s"
TASK_LOOKED_AT = 2_000
"""Characters of a prompt in which it is looked for what the person does not want done."""


def stop(heard: Heard, memory: Memory, env: Mapping[str, str]) -> dict[str, Any] | None:
    """The answer to a stop; None lets the agent stop."""
    evidence = gather(heard, memory)
    state = memory.state
    if not evidence.whole:
        note(
            env, f"hook {heard.agent} let the agent go on: the transcript {heard.transcript} does not tell of its turn"
        )
        return None
    found, decision = _decided(heard, evidence, state)
    spoken: dict[str, Any] | None = None
    if decision.reason in _SHOWN:
        state["shown"] = True
        spoken = answer(heard, "show", f"Touchline: {decision.message}")
    elif decision.action is Action.CONTINUE and _speaks(heard, evidence, found, decision, state):
        # Only what was really said counts; a stop that was let through takes nothing back.
        state["work"] = {
            "continuations": decision.work.continuations,
            "same_rejections": decision.work.same_rejections,
            "last_rejection": list(decision.work.last_rejection),
        }
        state["sent"] = decision.message
        spoken = answer(heard, "send_back", decision.message)
    memory.keep()
    return spoken


def _decided(heard: Heard, evidence: Evidence, state: dict[str, Any]) -> tuple[Stop, Decision]:
    phase, lacks = _phase(state, evidence.ledger)
    task = str(state.get("task") or evidence.task)
    text = heard.last_message or evidence.last_text
    limits = limits_of(state)
    found = classify(
        text,
        ledger=evidence.ledger,
        task=task,
        first_call=evidence.first_call,
        phase_missing=lacks,
        limits=limits,
    )
    situation = Situation(stop=found, ledger=evidence.ledger, work=_work(state, phase, task))
    return found, decide(situation, limits=limits)


def _phase(state: dict[str, Any], ledger: Ledger) -> tuple[Phase | None, tuple[str, ...]]:
    """The phase that the person named, if they did, and what it still lacks."""
    if not state.get("phase"):
        return None, ()
    from touchline.supervision.phases import missing_evidence, phases

    phase = phases().get(str(state["phase"]))
    return phase, missing_evidence(phase, ledger) if phase else ()


def _speaks(heard: Heard, evidence: Evidence, found: Stop, decision: Decision, state: Mapping[str, Any]) -> bool:
    """A claim without proof is sent back, but not who says plainly that it was not checked: a person reads it next.

    Nor who was told not to check. What a task in the background may yet prove is not asked for before it ends; what
    the record denies is.
    """
    task = str(state.get("task") or evidence.task)[:TASK_LOOKED_AT].lower()
    if decision.reason is not Reason.COMPLETION_REJECTED:
        return _breaks_off(heard, evidence, found, task) and state.get("phase") != "plan"
    if "contradicted_claim" not in found.rejected and _proof_is_under_way(heard, evidence.ledger):
        return False
    return not (found.honest or (found.only_unchecked and _unwanted(task)))


def _unwanted(task: str) -> bool:
    """The person wants no check of this."""
    return bool(pattern("tasks.no_checks").search(task) and not pattern("tasks.wants_checks").search(task))


def _breaks_off(heard: Heard, evidence: Evidence, found: Stop, task: str) -> bool:
    """The agent announced its next step and did not take it, in the middle of work that nothing will wake.

    Anything else that is no completion is a report: in a conversation a person reads it next. So is an announcement
    beside finished work, or in a list of what is to come, or where the person asked for a plan, or to stop there.
    """
    if found.reason != "deferral" or heard.planning or heard.background or evidence.ledger.calls <= evidence.first_call:
        return False
    text = heard.last_message or evidence.last_text
    if ends_open(text):
        return True
    line = text[text.rfind("\n", 0, found.spans[0].start) + 1 : found.spans[0].end]
    return not (found.claims or shape(_ITEM).match(line) or pattern("tasks.held_back").search(task))


def _proof_is_under_way(heard: Heard, ledger: Ledger) -> bool:
    """A helper at work, or a command that was begun after the last change. A server that runs since before proves none.

    Where the agent does not say what runs, it is taken for such a command: better silent than wrong.
    """
    edit = -1 if ledger.last_edit is None else ledger.last_edit
    since = {command.text for command in ledger.commands if command.call > edit or command.checks_own_edit}
    return any(
        task.get("type") != "shell"
        or not isinstance(line := task.get("command"), str)
        or line[:COMMAND_CHARACTERS] in since
        for task in heard.background
    )


def _work(state: dict[str, Any], phase: Phase | None, task: str = "") -> Work:
    kept = state.get("work")
    kept = kept if isinstance(kept, dict) else {}
    try:
        return Work(
            task=task,
            phase=phase,
            continuations=int(kept.get("continuations", 0)),
            same_rejections=int(kept.get("same_rejections", 0)),
            last_rejection=tuple(map(str, kept.get("last_rejection", ()))),
        )
    except (TypeError, ValueError):
        return Work(task=task, phase=phase)
