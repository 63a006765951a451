"""What goes into a turn and what comes out of it? The values of `turns`, without a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from touchline.supervision.facts import Call, Event, Turn
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.lines import LINE_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Tell the agent something while it works."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """End the turn."""

    why: str
    """For people, and for `Ran.stopped`."""
    ended_by: EndedBy = "us"


Observer = Callable[[Event], Say | Stop | None]
"""Asked for every event, in order and in the turn's own thread; after a stop its answers are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """When a turn is ended although the agent goes on. None means no limit."""

    seconds: float | None = None
    """Wall-clock time of the whole turn."""
    silence_seconds: float | None = None
    """Time without a byte from the process that is told (`on_quiet`). It ends the turn only when every running tool
    declared a time-out and is past it by `tool_grace_seconds`."""
    output_bytes: int | None = 512 * 1024 * 1024
    """Standard output and standard error together."""
    line_bytes: int = LINE_LIMIT
    """A longer line is noted and skipped; the turn goes on."""
    grace_seconds: float = 5.0
    """What each rung of the kill ladder waits, and how long a process may take to leave after its turn is over."""
    tool_grace_seconds: float = 30.0
    """How far past its own time-out a running tool is believed to be alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A turn that was run, however it ended."""

    turn: Turn
    """All that was heard. Not redacted: only the raw stream is."""
    spent: Mapping[str, Any] = field(default_factory=dict)
    """For the next turn's `spent_before`."""
    said: tuple[str, ...] = ()
    """Messages that were written to the agent."""
    unsaid: tuple[str, ...] = ()
    """Messages that the CLI could not take, or that came too late."""
    stopped: str = ""
    """Why we ended it; empty when it ended by itself."""
    seconds: float = 0.0
    raw: Path
    """Its standard output, redacted, as it came. Standard error is beside it, with `.err` added to the name."""
    raw_error: str = ""
    """Why the raw stream is not whole, such as a full disk."""
    errors: str = ""
    """The end of its standard error, redacted."""


def declared_timeout(call: Call) -> float | None:
    """Seconds that the agent itself gave a call, or None when it named none.

    `timeout` is in milliseconds with the CLIs that have it; below 1000 it can only be meant in seconds.
    """
    for name in ("timeout", "timeout_ms", "timeoutMs"):
        value = call.args.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return value / 1000 if name != "timeout" or value >= 1000 else float(value)
    value = call.args.get("timeout_seconds")
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    return None
