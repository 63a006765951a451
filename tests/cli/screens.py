"""A command on a terminal of its own, as a person sees it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _owned() -> None:
    """Make it the terminal that Ctrl-C is typed at."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """Start a command on a pseudo-terminal; `text` is all that was written, without colours and cursor moves."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._mine, theirs = pty.openpty()
        env = {name: value for name, value in env.items() if name not in ("CI", "NO_COLOR")}
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**env, "COLUMNS": "100"},
            start_new_session=True,
            preexec_fn=_owned,
        )
        os.close(theirs)
        self.raw = b""

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._mine)

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self.raw.decode("utf-8", "replace"))

    def until(self, words: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"never saw {words!r}: {self.text[-2000:]}"
            self._read()

    def write(self, words: str) -> None:
        os.write(self._mine, words.encode())

    def code(self, seconds: float = 60.0) -> int:
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text[-2000:]
            self._read()
        return self.process.returncode

    def _read(self) -> None:
        ready, _, _ = select.select([self._mine], [], [], 0.1)
        if ready:
            try:
                self.raw += os.read(self._mine, 65536)
            except OSError:  # the other end was closed
                time.sleep(0.05)
