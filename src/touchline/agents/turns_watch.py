"""How long may it go on? The clock of a turn, as pure decisions: limits, silence, running tools.

Silence alone ends nothing: a model may think for long, and a command may print nothing. It is told, once.
"""

from __future__ import annotations

from touchline.agents.turns_values import Stop, TurnLimits, declared_timeout
from touchline.supervision.facts import Call, Event, Result


class Clock:
    """Knows when the turn began, when a byte came last and which tools run. Times are monotonic seconds."""

    def __init__(self, limits: TurnLimits, now: float) -> None:
        self._limits = limits
        self._began = now
        self._heard = now
        self._bytes = 0
        self._tools: dict[str, tuple[float, float | None]] = {}
        self._told = False

    def count(self, size: int, now: float) -> None:
        self._heard, self._told = now, False
        self._bytes += size

    def note(self, event: Event, now: float) -> None:
        if isinstance(event, Call):
            self._tools[event.id] = (now, declared_timeout(event))
        elif isinstance(event, Result):
            self._tools.pop(event.call_id, None)

    @property
    def flooded(self) -> bool:
        """It wrote more than it may."""
        return self._limits.output_bytes is not None and self._bytes > self._limits.output_bytes

    def exceeded(self, now: float) -> Stop | None:
        """The limit that is passed, if one is."""
        limits = self._limits
        if self.flooded:
            return Stop(why=f"it wrote more than {limits.output_bytes} bytes")
        if limits.seconds is not None and now - self._began >= limits.seconds:
            return Stop(why=f"it took longer than {limits.seconds:g} seconds", ended_by="timeout")
        overdue = self._overdue()
        if overdue is not None and now >= overdue:
            return Stop(
                why=f"its tools are past their own time-outs, and it was silent for {now - self._heard:.0f} seconds",
                ended_by="timeout",
            )
        return None

    def quiet(self, now: float) -> float | None:
        """Seconds without a byte, once for each time that they pass the limit."""
        if self._told or self._limits.silence_seconds is None or now - self._heard < self._limits.silence_seconds:
            return None
        self._told = True
        return now - self._heard

    def next_check(self) -> float | None:
        """When `exceeded` or `quiet` may first say something new, if nothing happens before."""
        times = [self._overdue()]
        if self._limits.silence_seconds is not None and not self._told:
            times.append(self._heard + self._limits.silence_seconds)
        if self._limits.seconds is not None:
            times.append(self._began + self._limits.seconds)
        return min((time for time in times if time is not None), default=None)

    def _overdue(self) -> float | None:
        """When all running tools must be over by their own word, and it has been silent as well."""
        if self._limits.silence_seconds is None or not self._tools:
            return None
        until = self._heard + self._limits.silence_seconds
        for began, timeout in self._tools.values():
            if timeout is None:
                return None
            until = max(until, began + timeout + self._limits.tool_grace_seconds)
        return until
