"""What does this line of bytes say?

Decoding that never raises: whatever is not JSON comes back as `BROKEN`. orjson is used when installed; lines it
refuses (NaN, lone surrogates, invalid UTF-8) go through the standard library, so both give the same values.
"""

from __future__ import annotations

import sys

from touchline.plain_json import loads as plain_loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_fast_loads: Callable[[bytes], Any] | None = None
if not sys.flags.no_site:  # a hook runs without installed packages, and need not look for one at every stop
    try:
        from orjson import loads as _fast_loads
    except ImportError:  # the library runs on the standard library alone
        _fast_loads = None


class Broken:
    """The type of `BROKEN`."""

    __slots__ = ()


BROKEN: Final = Broken()
"""Stands for a line that is no JSON value; `None` would be the JSON value null."""


def decode(line: bytes) -> Any:
    """The JSON value of a line, or `BROKEN`."""
    if _fast_loads is not None:
        try:
            return _fast_loads(line)
        except ValueError:
            pass
    return decode_plainly(line)


def decode_plainly(line: bytes) -> Any:
    """As `decode`, by the standard library only."""
    try:
        value = plain_loads(line)
        if b"\\u" in line:
            value = _without_lone_surrogates(value)
    # Deep nesting ends in RecursionError, and numbers of thousands of digits in ValueError.
    except (ValueError, RecursionError, MemoryError):
        return BROKEN
    return value


def _without_lone_surrogates(value: Any) -> Any:
    """Half a surrogate pair cannot be written to any file or page later, so it is replaced here, once."""
    import json

    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(written.encode("utf-8", "replace"))
    return value


def encode(value: Any) -> bytes:
    """A decoded value as one line again."""
    import json

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
