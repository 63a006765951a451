"""Where does one record end and the next begin?

Frames a file into lines without ever holding more than one of bounded length. A line beyond the limit is
reported with its first characters; the rest of it is skipped, not held.
"""

from __future__ import annotations

from touchline.supervision.facts import Unread
from touchline.transcripts.bounds import NOTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LINE_LIMIT = 16 * 1024 * 1024
"""Real records stay below 2 MB; pasted images and whole files may reach a few more."""
BUFFER = 1024 * 1024


def lines_of(file: BinaryIO, *, limit: int = LINE_LIMIT) -> Iterator[bytes | Unread]:
    """Every line with its line end, or an `Unread` in place of one that is too long."""
    readline = file.readline
    while line := readline(limit):
        if len(line) < limit or line.endswith(b"\n"):
            yield line
            continue
        yield too_long(line)
        while line and not line.endswith(b"\n"):
            line = readline(BUFFER)


def too_long(line: bytes) -> Unread:
    """The note of a line beyond the limit."""
    return Unread(why="too_long", text=shown(line))


def shown(line: bytes) -> str:
    """The first characters of a line, for people."""
    return line[: NOTE * 4].decode("utf-8", "replace").strip()[:NOTE]
