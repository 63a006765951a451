"""Did the turn emit what it had to?

A contract names tokens (`plan_path = /abs/path`), a completion marker, or a JSON schema. This checks a turn against
it, from its own words and facts about the paths it named. What to do about a violation is `recovery`'s question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from touchline.supervision.evidence import Ledger
from touchline.supervision.facts import Ended, Text, Turn
from touchline.supervision.schema import schema_problems
from touchline.supervision.values import Value, field
from touchline.supervision.words import Word

TokenType = Literal["path", "verdict", "number", "text"]
Wrong = Literal["missing", "not_a_path", "not_a_number", "not_a_choice", "not_found", "outside", "stale", "not_checked"]
RecoveredBy = Literal["", "joined_messages", "earlier_message", "artefact", "nudge"]


class Content(Word):
    """What a turn's output amounts to."""

    SESSION_ERROR = "session_error"
    ABSENT = "absent"
    CONTRACT_VIOLATION = "contract_violation"
    COMPLETE = "complete"


class Token(Value):
    """A line `name = value` the turn must emit; `choices` are the words a verdict may be."""

    name: str
    type: TokenType = "text"
    choices: tuple[str, ...] = ()


class Contract(Value):
    """What a turn must emit. `marker` is unique per invocation and stands alone on its line."""

    tokens: tuple[Token, ...] = ()
    marker: str | None = None
    schema: Mapping[str, Any] | None = None


class PathFacts(Value):
    """What the file system says of a declared path, looked up by the caller."""

    exists: bool
    inside: bool
    """Its real path, links followed, lies inside the workspace."""
    fresh: bool
    """It was changed after the turn began."""


class Problem(Value):
    """What is wrong with one token, or with the `marker`, or with the `json`."""

    name: str
    wrong: Wrong | str
    value: str = ""


class ContractCheck(Value):
    """A turn held against its contract."""

    content: Content
    values: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    recovered_by: RecoveredBy = ""
    body: str = ""
    """What the turn said, without the marker."""
    refused: tuple[Problem, ...] = ()
    """What is wrong with a nudge's answer, which changed nothing."""

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.problems)

    @property
    def outside(self) -> bool:
        """A declared path lies outside the workspace, which fails the turn."""
        return any(p.wrong == "outside" for p in self.problems)


def has_marker(text: str, marker: str) -> bool:
    """The marker stands alone on a line outside code fences. Quoted in a sentence it is no completion."""
    return any(line.strip() == marker for line in _unfenced(text))


def strip_marker(text: str, marker: str | None) -> str:
    """The text without the lines that are only the marker."""
    if not marker:
        return text.strip()
    return "\n".join(line for line in text.splitlines() if line.strip() != marker).strip()


def find_values(text: str, contract: Contract) -> dict[str, str]:
    """Every token the text emits on a line of its own; the last one wins. Emphasis around it does not matter."""
    found: dict[str, str] = {}
    names = {token.name for token in contract.tokens}
    for line in _unfenced(text):
        match = _TOKEN.match(line)
        if match and match[2] in names and (value := _bare(match[3], match[1])):
            found[match[2]] = value
    return found


def declared_paths(contract: Contract, turn: Turn) -> frozenset[str]:
    """The paths this turn names for its path tokens: what the caller looks up before `check_contract`."""
    wanted = {token.name for token in contract.tokens if token.type == "path"}
    return frozenset(
        value
        for event in turn.events
        if isinstance(event, Text)
        for name, value in find_values(event.text, contract).items()
        if name in wanted
    )


def check_contract(
    contract: Contract,
    turn: Turn,
    *,
    paths: Mapping[str, PathFacts] | None = None,
    ledger: Ledger | None = None,
    observed: bool = True,
) -> ContractCheck:
    """Hold a turn against its contract, taking the free rungs of the ladder: join a marker that stands in a message
    of its own, take tokens from earlier messages, and, only where the stream could not be `observed`, take the one
    file that was written. A path nobody looked up (`paths`) is a problem, never a pass.
    """
    if turn.ended is not Ended.FINISHED:
        return ContractCheck(content=Content.SESSION_ERROR, body=turn.final_text)
    messages = [event.text for event in turn.events if isinstance(event, Text) and event.text.strip()]
    if not messages:
        return ContractCheck(content=Content.ABSENT)
    paths = paths or {}
    final = turn.final_text or messages[-1]
    check = _check(contract, final, paths)
    if check.content is Content.COMPLETE:
        return check
    earlier = "\n".join(messages)
    if contract.marker and strip_marker(final, contract.marker) == "" and has_marker(final, contract.marker):
        joined = _check(contract, "\n".join([*messages[-2:-1], final]), paths)
        if joined.content is Content.COMPLETE:
            return _recovered(joined, "joined_messages")
    if contract.schema is None:
        whole = _check(contract, earlier, paths)
        if whole.content is Content.COMPLETE:
            return _recovered(whole, "earlier_message")
    if not observed and ledger is not None:
        taken = _from_artefact(contract, earlier, paths, ledger)
        if taken is not None:
            return taken
    return check


def _check(contract: Contract, text: str, paths: Mapping[str, PathFacts]) -> ContractCheck:
    values = find_values(text, contract)
    problems = [p for token in contract.tokens if (p := _problem(token, values.get(token.name), paths))]
    if contract.marker and not has_marker(text, contract.marker):
        problems.append(Problem(name="marker", wrong="missing"))
    body = strip_marker(text, contract.marker)
    if contract.schema is not None:
        problems += [Problem(name="json", wrong=wrong) for wrong in schema_problems(body, contract.schema)]
    content = Content.CONTRACT_VIOLATION if problems else Content.COMPLETE
    return ContractCheck(content=content, values=values, problems=tuple(problems), body=body)


def _problem(token: Token, value: str | None, paths: Mapping[str, PathFacts]) -> Problem | None:
    def wrong(why: Wrong) -> Problem:
        return Problem(name=token.name, wrong=why, value=value or "")

    if value is None:
        return wrong("missing")
    match token.type:
        case "text":
            return None
        case "number":
            return None if _NUMBER.fullmatch(value) else wrong("not_a_number")
        case "verdict":
            return None if value in token.choices else wrong("not_a_choice")
        case "path":
            if not value.startswith("/") and not _WINDOWS.match(value):
                return wrong("not_a_path")
            facts = paths.get(value)
            if facts is None:
                return wrong("not_checked")
            if not facts.inside:
                return wrong("outside")
            if not facts.exists:
                return wrong("not_found")
            return None if facts.fresh else wrong("stale")


def _from_artefact(
    contract: Contract, text: str, paths: Mapping[str, PathFacts], ledger: Ledger
) -> ContractCheck | None:
    """The single missing path token, when exactly one file that passes its check was written."""
    check = _check(contract, text, paths)
    absent = [p.name for p in check.problems if p.wrong == "missing"]
    wanted = [t for t in contract.tokens if t.type == "path" and t.name in absent]
    if len(wanted) != 1 or len(check.problems) != 1:
        return None
    written = sorted({w.path for w in ledger.writes if _problem(wanted[0], w.path, paths) is None})
    if len(written) != 1:
        return None
    values = {**check.values, wanted[0].name: written[0]}
    return ContractCheck(content=Content.COMPLETE, values=values, recovered_by="artefact", body=check.body)


def _recovered(check: ContractCheck, by: RecoveredBy) -> ContractCheck:
    return ContractCheck(content=check.content, values=check.values, recovered_by=by, body=check.body)


def _bare(value: str, opened: str) -> str:
    """The value without the emphasis, code marks or quotes that wrap it, or that began before the name."""
    value = value.strip()
    if opened:
        value = value.removesuffix(opened).rstrip()
    for wrap in ("**", "__", "*", "_", "`", '"', "'"):
        if len(value) > 2 * len(wrap) and value.startswith(wrap) and value.endswith(wrap):
            value = value[len(wrap) : -len(wrap)].strip()
    return value.lstrip("*").strip()


def _unfenced(text: str) -> list[str]:
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        bare = line.lstrip()
        if not fence and bare.startswith(("```", "~~~")):
            fence = bare[:3]
        elif fence and bare.startswith(fence):
            fence = ""
        elif not fence:
            lines.append(line)
    return lines


_TOKEN = re.compile(r"^\s*(?:[-+*]\s+)?([*_`]{0,3})([A-Za-z][\w.-]*?)[*_`]{0,3}\s*=\s*(.*)$")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
