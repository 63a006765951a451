"""How often may each running turn ask something? Alone often; in a crowd so seldom that all together stay cheap.

With fifty turns in a process, asking every second whether each is still wanted was a tenth of what supervision costs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AT_EASE = 16
"""Turns at a time that need not care for each other."""

_lock = threading.Lock()
_running = 0


@contextmanager
def in_the_crowd() -> Iterator[None]:
    """For as long as a turn runs."""
    global _running
    with _lock:
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1


def patience(seconds: float) -> float:
    """The time between two questions of one turn, when it would be `seconds` for a few."""
    return seconds * max(1.0, _running / AT_EASE)
