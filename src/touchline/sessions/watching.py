"""What happens at each tool boundary? The loop watch looks at the call; a reminder is spoken, or the turn is ended.

A loop is reminded of once per streak where the CLI can be spoken to. Where it cannot, the turn is ended and the next
one begins with the reminder; where the reminder did not help, it is ended too. The decision what then is `judging`'s.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from touchline.agents.turns_values import Say, Stop
from touchline.sessions.telling import Teller
from touchline.store.fault_points import fault_point
from touchline.supervision.facts import Call, Event, Fault, Result, Spent, Step, Text
from touchline.supervision.loops import ThrashWatch
from touchline.supervision.patterns import Thrash
from touchline.supervision.steering import planning_reminder, reminder

LOOP = "loop"
BUDGET = "budget"
"""How `stopped` of a turn begins that was ended here."""
_UNDER_WAY = 3
"""Calls that may have been made before the agent could hear a reminder; a busy machine lets it hear late."""


class Boundary:
    """Observes one turn. It is asked in the turn's own thread, event by event."""

    def __init__(
        self,
        watch: ThrashWatch,
        *,
        first: int,
        teller: Teller | None,
        speaks: bool,
        read_only: bool,
        reminded: Thrash | None,
        planning_at: int | None,
        tokens_left: int | None,
        usd_left: float | None,
        redact: Callable[[str], str],
    ) -> None:
        self.watch = watch
        self.reminded = reminded
        """The loop the agent was last told of."""
        self.planning_at = planning_at
        self.current: Thrash | None = None
        """The loop that is going on."""
        self.pending: list[str] = []
        """Reminders for the next message, where the CLI cannot be spoken to."""
        self.calls = first
        self.times: dict[str, list[float]] = {}
        """Of each call when it was heard to begin, and to end."""
        self._teller, self._speaks, self._read_only = teller, speaks, read_only
        self._tokens_left, self._usd_left, self._redact = tokens_left, usd_left, redact
        self._running: dict[str, Step] = {}
        self._over = False
        self._recent: deque[Step] = deque(maxlen=20)

    def __call__(self, event: Event) -> Say | Stop | None:
        # Before anything is made of it: a reminder quotes commands, cut short, and half a secret is not found again.
        event = _without_secrets(event, self._redact)
        match event:
            case Call():
                self.times.setdefault(event.id, [time.time()])
            case Result() if len(self.times.get(event.call_id, ())) == 1:
                self.times[event.call_id].append(time.time())
            case _:
                pass
        if self._teller is not None:
            self._teller.event(event)
            if isinstance(event, Text | Call):
                fault_point("session.turn_heard")
        if self._over:
            return None  # what an agent does while it is being stopped says nothing about it
        answer = self._heard(event)
        self._over = isinstance(answer, Stop)
        return answer

    def _heard(self, event: Event) -> Say | Stop | None:
        match event:
            case Call():
                self._running.setdefault(event.id, Step(index=self.calls, call=event))
                self.calls += 1
            case Result():
                step = self._running.pop(event.call_id, None)
                if step is not None:
                    return self._after(Step(index=step.index, call=step.call, result=event))
            case Spent():
                return self._paid(event)
            case _:
                pass
        return None

    def _paid(self, event: Spent) -> Stop | None:
        if self._tokens_left is not None:
            self._tokens_left -= event.usage.total
            if self._tokens_left < 0:
                return Stop(why=f"{BUDGET}: the tokens are used up")
        if self._usd_left is not None and event.cost_usd is not None:
            self._usd_left -= event.cost_usd
            if self._usd_left < 0:
                return Stop(why=f"{BUDGET}: the money is used up")
        return None

    def feed(self, steps: Sequence[Step]) -> None:
        """Take in calls of a stream that was torn off, without acting on them."""
        for step in steps:
            self.calls = step.index + 1
            self._recent.append(step)
            found = self.watch.after(step)
            self.current = found if found is not None and found.grade == "loop" else None

    def _after(self, step: Step) -> Say | Stop | None:
        self._recent.append(step)
        found = self.watch.after(step)
        self.current = found if found is not None and found.grade == "loop" else None
        return self._steered() or self._planning(step)

    def _steered(self) -> Say | Stop | None:
        loop = self.current
        if loop is None:
            return None
        words = reminder(loop, reminded=self.reminded)
        if words is None:
            told_at = self.reminded.at if self.reminded is not None else -1
            return Stop(why=f"{LOOP}: {loop.message}") if loop.at - told_at > _UNDER_WAY else None
        if not self._speaks:
            return Stop(why=f"{LOOP}: {loop.message}")
        self.reminded = loop
        return self._said(words, str(loop.rule))

    def _planning(self, step: Step) -> Say | None:
        words = planning_reminder(tuple(self._recent), self._read_only, self.planning_at)
        if words is None:
            return None
        self.planning_at = step.index
        if self._speaks:
            return self._said(words, "planning")
        self.pending.append(words)
        return None

    def _said(self, words: str, rule: str) -> Say:
        if self._teller is not None:
            self._teller.tell("reminder.sent", text=words, rule=rule)
        return Say(text=words)


def _without_secrets(event: Event, redact: Callable[[str], str]) -> Event:
    match event:
        case Text() | Result():
            return event if (words := redact(event.text)) == event.text else replace(event, text=words)
        case Fault():
            return replace(event, message=redact(event.message))
        case Call():
            return replace(event, args=_redacted(event.args, redact))
        case _:
            return event


def _redacted(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(str(name)): _redacted(each, redact) for name, each in value.items()}
        case list() | tuple():
            return [_redacted(each, redact) for each in value]
        case _:
            return value
