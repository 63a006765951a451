"""How often was this process told to stop? Ctrl-C and SIGTERM are counted, and acted on where that is safe."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

_ENOUGH = 3
"""So many, and nobody acts on them: something hangs."""


class Signals:
    """Counts while it is entered. The first asks for a kind end, the second for one at once, the third takes it."""

    def __init__(self) -> None:
        self.count = 0
        self.number = int(signal.SIGINT)
        """The last one that came."""
        self._before: dict[int, object] = {}

    @property
    def code(self) -> int:
        """The exit code that tells a shell so."""
        return 128 + self.number

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._told)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _told(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.number = number
        if self.count >= _ENOUGH:
            os._exit(self.code)
