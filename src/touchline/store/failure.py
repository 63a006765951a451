"""How is an error kept in a row? As a short text that both databases take."""

from __future__ import annotations

MAX_CHARACTERS = 2000


def told(error: BaseException) -> str:
    """The error's kind and words, without what a database would refuse."""
    words = str(error).encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return f"{type(error).__name__}: {words}"[:MAX_CHARACTERS]
