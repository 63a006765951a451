"""Where does one line end, and where is it kept? Framing of a pipe's chunks in bounded memory, and the raw file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from touchline.agents.redaction import Redactor

SHOWN = 4_096
"""What the raw stream keeps of a line that was too long."""
ERRORS_KEPT = 16_384
"""The end of standard error that is kept in memory."""


class Lines:
    """Lines out of chunks. A line beyond the limit comes once, cut one byte past the limit; its rest is skipped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        begin = 0
        while (end := chunk.find(b"\n", begin)) >= 0:
            if self._skipping:
                self._skipping = False
            else:
                self._parts.append(chunk[begin:end])
                yield self._take()
            begin = end + 1
        rest = chunk[begin:]
        if not rest or self._skipping:
            return
        self._parts.append(rest)
        self._held += len(rest)
        if self._held > self._limit:
            yield self._take()
            self._skipping = True

    def rest(self) -> bytes:
        """What came after the last line end."""
        return self._take() if self._parts else b""

    def _take(self) -> bytes:
        line = b"".join(self._parts)
        self._parts, self._held = [], 0
        return line if len(line) <= self._limit else line[: self._limit + 1]


class RawFile:
    """Appends redacted lines to a file that only the owner may read. A disk that refuses is noted, not raised: the turn
    is worth more than its copy."""

    def __init__(self, path: Path, redactor: Redactor, limit: int) -> None:
        self.path = path
        self.error = ""
        self._redactor = redactor
        self._limit = limit
        self._handle: int | None = None

    def write(self, lines: list[bytes]) -> None:
        if not lines or self.error:
            return
        written = b"".join(self._shown(line) for line in lines)
        try:
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            while written:
                written = written[os.write(self._handle, written) :]
        except OSError as error:
            self.error = f"{self.path}: {error.strerror}"

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _shown(self, line: bytes) -> bytes:
        if len(line) > self._limit:
            # A little more is redacted than is kept: a secret at the cut must not be left in half.
            return self._redactor.line(line[: 2 * SHOWN])[:SHOWN] + b" [... the line was too long and is cut ...]\n"
        return self._redactor.line(line) + b"\n"


class ErrorTail:
    """Standard error: all of it to a file, its end in memory."""

    def __init__(self, file: RawFile, redactor: Redactor) -> None:
        self._file = file
        self._redactor = redactor
        self._lines = Lines(64 * 1024)
        self._tail = ""

    def feed(self, chunk: bytes) -> None:
        self._add(list(self._lines.feed(chunk)))

    def close(self) -> str:
        rest = self._lines.rest()
        self._add([rest] if rest else [])
        self._file.close()
        return self._tail.strip()

    def _add(self, lines: list[bytes]) -> None:
        self._file.write(lines)
        for line in lines:
            shown = self._redactor.text(line[: 2 * SHOWN].decode("utf-8", "replace"))[:SHOWN]
            self._tail = f"{self._tail}{shown}\n"[-ERRORS_KEPT:]
