"""How is an agent written to? Its standard input, as fast as it reads and never faster: nothing here blocks."""

from __future__ import annotations

import os
import selectors
from contextlib import suppress
from typing import IO


class Input:
    """The pipe, or nothing where the CLI has none to read from."""

    def __init__(self, pipe: IO[bytes] | None, selector: selectors.BaseSelector) -> None:
        self.pipe = pipe
        self._selector = selector
        self._waiting = bytearray()
        self._closing = pipe is None
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)

    @property
    def open(self) -> bool:
        """More can be said."""
        return not self._closing

    def write(self, words: bytes) -> None:
        if words and self.open:
            self._waiting += words
            self.flush()

    def close(self, *, at_once: bool = False) -> None:
        """Close it, after what still waits to be written, or at once."""
        self._closing = True
        if at_once:
            self._waiting.clear()
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes now; the selector tells when it takes more."""
        pipe = self.pipe
        if pipe is None or pipe.closed:
            return
        try:
            while self._waiting:
                del self._waiting[: os.write(pipe.fileno(), self._waiting)]
        except BlockingIOError:
            if pipe not in self._selector.get_map():
                self._selector.register(pipe, selectors.EVENT_WRITE)
            return
        except OSError:  # nobody reads any more
            self._waiting.clear()
            self._closing = True
        if pipe in self._selector.get_map():
            self._selector.unregister(pipe)
        if self._closing:
            with suppress(OSError):
                pipe.close()
