"""What is a rehearsal script made of? Values only; `script` reads them from a file, `play` chooses among them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CallKind = Literal["shell", "write", "edit", "read", "raw"]
FaultKind = Literal["bad_request", "login", "forbidden", "not_found", "rate_limit", "server", "overloaded", "too_long"]

ALWAYS = 1_000_000_000
"""The `times` of a turn that is played for as long as it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens that one reply tells."""

    input: int = 1000
    """Beside the cached ones."""
    cached: int = 200
    output: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What a message must hold: plain words, or a regular expression written between slashes."""

    source: str
    """As the script has it."""

    def found_in(self, words: str) -> bool:
        expression = expression_of(self.source)
        return self.source in words if expression is None else re.search(expression, words) is not None


def expression_of(source: str) -> str | None:
    """The regular expression between the slashes (`/…/` or `/…/i`); None for plain words."""
    if len(source) > 2 and source.startswith("/"):
        if source.endswith("/"):
            return f"(?s){source[1:-1]}"
        if source.endswith("/i") and len(source) > 3:
            return f"(?si){source[1:-2]}"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, independent of what a CLI names its tools."""

    kind: CallKind
    target: str
    """The command, the file, or (`raw`) the tool's own name."""
    content: str = ""
    """What is written (`write`), or what stands there afterwards (`edit`)."""
    old: str = ""
    """What an `edit` replaces."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """The arguments of a `raw` call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error that the provider answers with."""

    status: int
    kind: FaultKind
    message: str
    retry_after: float | None = None
    """Seconds, told in the `retry-after` header."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the scripted model, or one error in its place."""

    line: int = 0
    """Where it begins in the script; 0 when that is not known."""
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    json: Any = None
    """A structured answer; None when there is none."""
    fault: Fault | None = None
    drop: bool = False
    """The connection is cut in the middle of the reply."""
    delay: float = 0.0
    """Seconds before the first byte."""
    stall: float = 0.0
    """Seconds of silence in the middle of the reply."""
    usage: Usage | None = None
    """None: the script's own."""
    times: int = 1
    """How often it is played before the next turn comes; for faults: how many requests fail."""
    until: Pattern | None = None
    """Played again and again until the user says this."""
    heard: Pattern | None = None
    """Played only when the user's newest words hold this."""
    saw: Pattern | None = None
    """Played only when the newest tool results hold this."""
    otherwise: Turn | None = None
    """Played in its place when `heard` or `saw` does not hold; None passes the turn over."""

    @property
    def fails(self) -> bool:
        """True when the CLI gets no usable reply from it."""
        return self.fault is not None or self.drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A value that is taken from what the user said."""

    pattern: str
    """A regular expression; its first group is the value, or all of it when there is none."""
    otherwise: str | None = None
    """The value when nothing fits; None makes that an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session's turns."""

    name: str
    turns: tuple[Turn, ...]
    when: Pattern | None = None
    """Which first prompts it is for; None takes all that no other wants."""
    answers: tuple[Turn, ...] = ()
    """Played whenever the user's newest words hold their `heard`, beside the turns and as often as that happens."""
    find: Mapping[str, Finding] = field(default_factory=dict)
    """Values for `${name}`, by name."""
    plain: bool = False
    """Requests without tools are turns too, not titles or summaries: a program asks, not an agent."""

    @property
    def structured(self) -> bool:
        """True when a turn answers with JSON: requests with a schema are turns then."""
        turns = (*self.turns, *self.answers)
        return any(turn.json is not None or (turn.otherwise and turn.otherwise.json is not None) for turn in turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All that the scripted model will say."""

    file: str
    conversations: tuple[Conversation, ...]
    usage: Usage = field(default_factory=Usage)
    strict: bool = False
    """True: asking on after the last turn is an error, not a final message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the model was told before one of its replies."""

    words: str = ""
    """What the user said."""
    results: str = ""
    """What the tools returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model says next: a turn of the script with its values filled in."""

    conversation: str
    turn: int
    """Its number in the conversation, from 1; 0 for a standing answer; one more than there are when it ran out."""
    number: int
    """Which reply of the session this is, from 0."""
    usage: Usage
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    json: Any = None
    fault: Fault | None = None
    drop: bool = False
    delay: float = 0.0
    stall: float = 0.0
    ran_out: bool = False
    problem: str = ""
    """Why the script could not be played as it is; the reply is then a fault that says so."""
