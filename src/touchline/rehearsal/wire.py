"""What do the providers' APIs have in common? A request in our words, and a reply ready to be put into theirs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchline.rehearsal.turns import Fault, Told, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to a model."""

    told: tuple[Told, ...]
    """What the model was told before each of its replies; the last entry is what it must answer now."""
    tools: tuple[str, ...] = ()
    """The names of the tools on offer."""
    free_form: frozenset[str] = frozenset()
    """Those of them that take one text instead of arguments."""
    forced: str = ""
    """The one tool that must be called; empty when the model may choose."""
    schema: Mapping[str, Any] | None = None
    """What the answer must fit, when structured output is asked for."""
    stream: bool = False
    model: str = ""
    system: str = ""
    """The instructions before the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A call as the CLI's own tool takes it."""

    id: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    text: str | None = None
    """The input of a tool that takes one text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A reply, ready for the wire."""

    id: str
    usage: Usage
    text: str = ""
    thinking: str = ""
    uses: tuple[ToolUse, ...] = ()


Event = tuple[str, Any]
"""A server-sent event: its name (may be empty) and its data."""


class Api(Protocol):
    """One provider's API. All pure: requests and replies as JSON values."""

    def read(self, body: Mapping[str, Any], path: str) -> Asked:
        """The request in our words. Parts that are not known are passed over."""
        ...

    def whole(self, spoken: Spoken, asked: Asked) -> Mapping[str, Any]:
        """The reply in one piece."""
        ...

    def events(self, spoken: Spoken, asked: Asked) -> list[Event]:
        """The reply as a stream."""
        ...

    def refusal(self, fault: Fault) -> Mapping[str, Any]:
        """The body of an error."""
        ...


class Telling:
    """Gathers what the model was told, reply by reply. Neighbouring parts of one reply count once."""

    def __init__(self) -> None:
        self._told: list[Told] = []
        self._words: list[str] = []
        self._results: list[str] = []
        self._replying = False

    def user(self, words: str) -> None:
        self._replying = False
        self._words.append(words)

    def result(self, words: str) -> None:
        self._replying = False
        self._results.append(words)

    def reply(self) -> None:
        """A part of what the model said itself."""
        if not self._replying:
            self._told.append(self._now())
            self._words, self._results, self._replying = [], [], True

    def told(self) -> tuple[Told, ...]:
        return (*self._told, self._now())

    def _now(self) -> Told:
        return Told(words="\n".join(self._words), results="\n".join(self._results))


def new_id(prefix: str) -> str:
    return prefix + os.urandom(12).hex()


def pieces(words: str, size: int = 40) -> Iterator[str]:
    """The text as a model streams it: bit by bit."""
    for start in range(0, len(words), size):
        yield words[start : start + size]


def text_of(content: Any) -> str:
    """The words in a content that may be a text, a list of parts, or a part."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        for name in ("text", "output", "content"):
            if name in content:
                return text_of(content[name])
        return ""
    if isinstance(content, Iterable):
        return "\n".join(filter(None, (text_of(part) for part in content)))
    return ""


def maps(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; nothing for anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def inner(value: Any, *names: str) -> Any:
    """A value deep inside; None when a step of the way is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
