"""What is said to the scripted agent while it works? A thread reads standard input, so that a stop is heard at once."""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from touchline.rehearsal.wire import text_of


class Message(NamedTuple):
    """Something that the user said."""

    words: str
    id: str
    """As the sender named it, for the acknowledgement; may be empty."""


class Inbox:
    """Messages in the order they came. `on_control` is called from the reading thread."""

    def __init__(self, on_control: Callable[[dict[str, Any]], None]) -> None:
        self._on_control = on_control
        self._messages: deque[Message] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def listen(self) -> None:
        """Begin to read standard input."""
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def put(self, message: Message) -> None:
        with self._changed:
            self._messages.append(message)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more will come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait(self) -> Message | None:
        """The next message; None when nothing more will come."""
        with self._changed:
            while not self._messages and not self._closed:
                self._changed.wait()
            return self._messages.popleft() if self._messages else None

    def take(self) -> list[Message]:
        """All that came so far."""
        with self._changed:
            found = list(self._messages)
            self._messages.clear()
            return found

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                print(f"the scripted agent cannot read this line: {line[:200]!r}", file=sys.stderr, flush=True)
            elif record.get("type") == "user":
                message = record.get("message")
                words = text_of(message.get("content")) if isinstance(message, dict) else ""
                self.put(Message(words, str(record.get("uuid") or "")))
            elif record.get("type") == "control_request":
                self._on_control(record)
        self.close()
