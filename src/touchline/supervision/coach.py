"""How is a decision worded for the agent?

Three tiers: why a completion was not accepted; what the plan or the phase counts as done; a plain `continue` when
there is nothing certain to say. The words are in `coach.toml`. The coach never decides: it words what was decided.
"""

from __future__ import annotations

from touchline.supervision.criteria import success_criteria
from touchline.supervision.evidence import Command, Ledger
from touchline.supervision.limits import LIMITS, Limits
from touchline.supervision.phases import Phase
from touchline.supervision.prepared import table
from touchline.supervision.remembering import cache
from touchline.supervision.stops import Claim, Standing, Stop
from touchline.supervision.values import Literal, Value, assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Tier = Literal["rejection", "criteria", "pointer", "hint", "plain"]

_CLAIM_CHARS = 160
_FILES_SHOWN = 3
_OF_THE_WORK = frozenset({"fixed", "implemented", "verified", "file_created", "checks_pass"})
"""Claims about the work itself; the others name a deed that leaves a record."""


class Plan(Value):
    """The plan of a task; `text` is None when the file could not be read."""

    path: str
    text: str | None = None


class Coaching(Value):
    """One message to the agent, and which tier it came from."""

    tier: Tier
    text: str


@cache
def templates() -> Mapping[str, Any]:
    """The words that come with Touchline; a caller may pass a mapping of the same shape."""
    return table("coach.toml")


def coach(
    stop: Stop,
    *,
    ledger: Ledger | None = None,
    phase: Phase | None = None,
    plan: Plan | None = None,
    rejections_before: int = 0,
    words: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
) -> Coaching:
    """Word the continuation of this stop.

    `rejections_before` is how often this very rejection was already sent: from the second on it is put differently.
    """
    words = templates() if words is None else words
    if stop.rejected:
        body = _rejection(stop, ledger or Ledger(), phase, rejections_before > 0, words)
        return Coaching(tier="rejection", text=f"{words['prefix']} {body}")
    if plan is not None:
        tier, body = _by_plan(plan, phase, words, limits)
        return Coaching(tier=tier, text=f"{words['prefix']} {body}")
    if phase is not None:
        body = words["phase"]["hint"].format(phase=phase.name, hint=phase.hint)
        return Coaching(tier="hint", text=f"{words['prefix']} {body}")
    return Coaching(tier="plain", text=words["plain"])


def _by_plan(plan: Plan, phase: Phase | None, words: Mapping[str, Any], limits: Limits) -> tuple[Tier, str]:
    say, named = (words["plan"], {}) if phase is None else (words["phase"], {"phase": phase.name})
    criteria = success_criteria(plan.text, limit=limits.criteria_chars) if plan.text is not None else None
    if criteria is None:
        return "pointer", say["pointer"].format(path=plan.path, **named)
    return "criteria", say["criteria"].format(path=plan.path, criteria=criteria, **named)


def _rejection(stop: Stop, ledger: Ledger, phase: Phase | None, again: bool, words: Mapping[str, Any]) -> str:
    say, proof = words["rejection"], words["proof"]
    lines = [say["opening_again" if again else "opening"]]
    asks: list[str] = []
    for why in stop.rejected:
        match why:
            case "contradicted_claim":
                lines += [
                    say["contradicted"].format(claim=_short(c.span.text), because=c.because.rstrip("."))
                    for c in stop.claims
                    if c.standing is Standing.CONTRADICTED
                ]
                asks.append(proof[why])
            case "unproved_claim":
                lines += [
                    say[why].format(claim=_short(c.span.text), because=c.because.rstrip("."))
                    for c in stop.claims
                    if c.standing is Standing.UNPROVED and c.call is None and c.what not in _OF_THE_WORK
                ]
                asks.append(proof[why])
            case "unverified_edits":
                line, ask = _unverified(ledger, words)
                lines.append(line)
                asks.append(ask)
            case "tests_weakened":
                weak = ledger.weakened
                lines.append(say[why].format(call=weak.call if weak else "?", detail=weak.detail if weak else ""))
                asks.append(proof[why])
            case "phase_evidence_missing":
                missing = ", ".join(stop.missing) or "its evidence"
                lines.append(say[why].format(phase=phase.name if phase else "current", missing=missing))
                asks.append(f"{proof[why]} ({missing})")
            case "hedged_only":
                lines.append(say[why].format(hedge=_short(stop.hedges[0].text) if stop.hedges else "…"))
                asks.append(proof[why])
            case "no_proof_shown":
                lines.append(say[why])
                asks.append(proof[why])
            case _:  # pragma: no cover
                assert_never(why)
    claim = _main_claim(stop)
    if claim is not None and not {"contradicted_claim", "unproved_claim"} & set(stop.rejected):
        lines.append(say["claimed"].format(claim=_short(claim.span.text)))
    lines.append(say["asks_again" if again else "asks"].format(proof="; then ".join(dict.fromkeys(asks))))
    if not again:
        lines.append(say["honest"])
    return "\n".join(lines)


def _unverified(ledger: Ledger, words: Mapping[str, Any]) -> tuple[str, str]:
    say, proof = words["rejection"], words["proof"]
    ran = ledger.after_last_edit
    if ran:
        line = say["failed_after_edit"].format(edit=ledger.last_edit, because=_ran(ran[-1]))
        return line, proof["failed_after_edit"]
    paths = list(dict.fromkeys(write.path for write in ledger.writes))
    more = len(paths) - _FILES_SHOWN
    files = ", ".join(paths[-_FILES_SHOWN:]) + (f" and {more} more" if more > 0 else "")
    line = say["unverified_edits"].format(files=files or "the workspace", edit=ledger.last_edit)
    return line, proof["unverified_edits"]


def _ran(command: Command) -> str:
    code = "an error" if command.exit_code is None else f"exit code {command.exit_code}"
    return f"call {command.call}, `{_short(command.text)}`, ended with {code}"


def _main_claim(stop: Stop) -> Claim | None:
    unproved = [c for c in stop.claims if c.standing is not Standing.PROVED]
    return unproved[0] if unproved else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CLAIM_CHARS else line[: _CLAIM_CHARS - 1].rstrip() + "…"
