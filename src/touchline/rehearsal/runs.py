"""How far has each run come? Counts what was asked and played; the only state that the server has."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from touchline.rehearsal.asides import aside_text, is_aside
from touchline.rehearsal.play import conversation_for, play
from touchline.rehearsal.turns import Reply, Script
from touchline.rehearsal.wire import Asked

KEPT_REQUESTS = 1000
"""Requests that a run remembers; a loop that never ends must not eat the memory."""
_WORKSPACE = re.compile(r"(?:working directory: |working in the directory: |<cwd>)(/[^\s<`]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One request and what came of it."""

    api: str
    model: str
    aside: bool
    conversation: str = ""
    turn: int = 0
    """The turn of the script, from 1; 0 for asides and standing answers."""
    number: int = 0
    """Which reply of its session it was, from 0."""
    heard: str = ""
    """What the user said newly."""
    saw: str = ""
    """What the tools returned newly."""
    tools: tuple[str, ...] = ()
    """The tools on offer."""
    status: int = 200
    """0 for a connection that was cut."""
    ran_out: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run came to."""

    run: str
    turns: int
    """Replies that were played."""
    failures: int
    """Errors and cut connections that were played."""
    asides: int
    """Requests that cost no turn."""
    left: Mapping[str, int] = field(default_factory=dict)
    """Turns never reached, by conversation; only those that have some."""
    ran_out: bool = False
    """More was asked than the script has."""
    problems: tuple[str, ...] = ()

    @property
    def used_up(self) -> bool:
        """Every turn was reached, and nothing was asked beyond them."""
        return not self.left and not self.ran_out and not self.problems

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "problems": list(self.problems), "used_up": self.used_up}


class Run:
    """One name in the base URL: a script and what was played of it. Safe for threads."""

    def __init__(self, name: str, script: Script, given: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.script = script
        self._given = dict(given or {})
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, str], dict[int, int]] = {}
        self._reached: dict[str, int] = {}
        self._played: list[Played] = []
        self._turns = self._failures = self._asides = 0
        self._ran_out = False
        self._problems: list[str] = []

    def ask(self, asked: Asked) -> Reply | str:
        """What to answer: a reply of the script, or the text for an aside."""
        conversation = conversation_for(self.script, asked.told[0])
        if is_aside(asked, conversation):
            return aside_text(asked)
        given = {"run": self.name, "workspace": _workspace(asked), **self._given}
        first = hashlib.sha256(asked.told[0].words.encode()).hexdigest()
        with self._lock:
            failed = self._failed.setdefault((conversation.name if conversation else "", first), {})
            reply = play(self.script, asked.told, failed=failed, given={k: v for k, v in given.items() if v})
            if reply.fault is not None or reply.drop:
                failed[reply.turn] = failed.get(reply.turn, 0) + 1
        return reply

    def note(self, played: Played) -> None:
        """Remember what was answered."""
        with self._lock:
            if len(self._played) < KEPT_REQUESTS:
                self._played.append(played)
            if played.aside:
                self._asides += 1
                return
            if played.problem:
                self._problems.append(played.problem)
            self._ran_out = self._ran_out or played.ran_out
            self._reached[played.conversation] = max(self._reached.get(played.conversation, 0), played.turn)
            if played.status != 200:
                self._failures += 1
            elif not played.ran_out:
                self._turns += 1

    @property
    def played(self) -> tuple[Played, ...]:
        with self._lock:
            return tuple(self._played)

    def report(self) -> Report:
        with self._lock:
            left = {each.name: len(each.turns) - self._reached.get(each.name, 0) for each in self.script.conversations}
            return Report(
                run=self.name,
                turns=self._turns,
                failures=self._failures,
                asides=self._asides,
                left={name: count for name, count in left.items() if count > 0},
                ran_out=self._ran_out,
                problems=tuple(dict.fromkeys(self._problems)),
            )


def _workspace(asked: Asked) -> str:
    """The folder the CLI works in, as it tells the model; empty when it does not."""
    found = _WORKSPACE.search(asked.system) or _WORKSPACE.search(asked.told[0].words)
    return found[1] if found else ""
