"""How is a completion that was not accepted explained to the agent? Each fact once, then what would prove it.

The words are in `coach.toml`; which message is due at all is `coach`'s.
"""

from __future__ import annotations

from touchline.supervision.claim_check import counts
from touchline.supervision.evidence import Command, Ledger
from touchline.supervision.phases import Phase
from touchline.supervision.stops import Claim, Standing, Stop
from touchline.supervision.values import assert_never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_CLAIM_CHARS = 160
_CLAIMS_QUOTED = 3
_FILES_SHOWN = 3
_OF_THE_WORK = frozenset({"fixed", "implemented", "verified", "file_created"})
"""Claims about the work itself, which a failing run does not deny but does not bear out either."""


def explained(stop: Stop, ledger: Ledger, phase: Phase | None, *, again: bool, words: Mapping[str, Any]) -> str:
    """The reasons, and what to confirm at the next stop. `again`: the same was said before, so it is put otherwise."""
    say, proof = words["rejection"], words["proof"]
    lines: list[str] = []
    asks: list[str] = []
    contradicted = [c for c in stop.claims if c.standing is Standing.CONTRADICTED]
    failed = ledger.after_last_edit[-1:]
    # A failure that a claim was held against, or that is Touchline's own to report, is not told a second time.
    known = {claim.call for claim in contradicted if "contradicted_claim" in stop.rejected}
    checked = phase is None and "phase_evidence_missing" in stop.rejected
    for why in stop.rejected:
        match why:
            case "contradicted_claim":
                lines += _against(contradicted, say)
                asks += [] if checked else [proof[why]]
            case "unproved_claim":
                lines += _grouped((c for c in stop.claims if c.untraced), say[why])
                asks.append(proof[why])
            case "unverified_edits":
                if failed and (failed[0].call in known or (checked and failed[0].own)):
                    asks += [] if checked else [proof["failed_after_edit"]]
                    continue
                line, ask = _unverified(ledger, words)
                lines.append(line)
                asks.append(ask)
            case "tests_weakened":
                weak = ledger.weakened
                lines.append(say[why].format(call=weak.call if weak else "?", detail=weak.detail if weak else ""))
                asks.append(proof[why])
            case "phase_evidence_missing":
                missing = ", ".join(stop.lacking) or "its evidence"
                if phase is None:
                    lines.append(say["check_missing"].format(missing=missing))
                    asks.append(proof["check_missing"])
                else:
                    lines.append(say[why].format(phase=phase.name, missing=missing))
                    asks.append(f"{proof[why]} ({missing})")
            case "hedged_only":
                lines.append(say[why].format(hedge=_short(stop.hedges[0].text) if stop.hedges else "…"))
                asks.append(proof[why])
            case "no_proof_shown":
                lines.append(say[why])
                asks.append(proof[why])
            case _:  # pragma: no cover
                assert_never(why)
    claim = next((c for c in stop.claims if c.standing is not Standing.PROVED), None)
    if claim is not None and not {"contradicted_claim", "unproved_claim"} & set(stop.rejected):
        lines.append(say["claimed"].format(claim=_short(claim.words)))
    lines.append(say["asks_again" if again else "asks"].format(proof="; then ".join(dict.fromkeys(asks))))
    if not again:
        lines.append(say["honest"])
    return "\n".join((say["opening_again" if again else "opening"], *lines))


def _against(claims: Iterable[Claim], say: Mapping[str, Any]) -> list[str]:
    claims = tuple(claims)
    of_the_work = [c for c in claims if c.what in _OF_THE_WORK]
    return [
        *_grouped((c for c in claims if c not in of_the_work), say["contradicted"]),
        *_grouped(of_the_work, say["not_borne_out"]),
    ]


def _grouped(claims: Iterable[Claim], words: str) -> list[str]:
    """One line for all claims that the same fact speaks against."""
    by_fact: dict[str, list[str]] = {}
    for claim in claims:
        by_fact.setdefault(claim.because.rstrip("."), []).append(_short(claim.words))
    return [words.format(claims=_quoted(said), because=because) for because, said in by_fact.items()]


def _quoted(said: list[str]) -> str:
    each = list(dict.fromkeys(said))
    more = len(each) - _CLAIMS_QUOTED
    quotes = [f'"{words}"' for words in each[:_CLAIMS_QUOTED]]
    return ", ".join(quotes) + (f" and {more} more" if more > 0 else "")


def _unverified(ledger: Ledger, words: Mapping[str, Any]) -> tuple[str, str]:
    say, proof = words["rejection"], words["proof"]
    ran = ledger.after_last_edit
    if ran:
        failing = ledger.failing_run
        # Not always the last command: a linter that runs well after tests that failed makes nothing good.
        because = f"{failing.named} ran {failing.runner}: {counts(failing)}" if failing else _ran(ran[-1])
        known = "failed_after_edit" if failing or ran[-1].failed else "unknown_after_edit"
        return say[known].format(edit=ledger.last_edit, because=because), proof[known]
    paths = list(dict.fromkeys(write.path for write in ledger.writes))
    more = len(paths) - _FILES_SHOWN
    files = ", ".join(paths[-_FILES_SHOWN:]) + (f" and {more} more" if more > 0 else "")
    line = say["unverified_edits"].format(files=files or "the workspace", edit=ledger.last_edit)
    return line, proof["unverified_edits"]


def _ran(command: Command) -> str:
    line = f"{command.named}, `{_short(command.text)}`"
    if command.exit_code is not None:
        return f"{line}, ended with exit code {command.exit_code}"
    return f"{line}, ended with an error" if command.failed else f"how {line}, ended is not known"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CLAIM_CHARS else line[: _CLAIM_CHARS - 1].rstrip() + "…"
