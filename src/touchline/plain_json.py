"""JSON in half the time: the standard library's own C reader and writer, without the package around them.

`json` loads regular expressions and enumerations, which alone would nearly double what a hook costs
(`bench/hook_cost.py`). Where an interpreter lacks the C parts, `json` itself is used; the results are the same.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SPACE = " \t\n\r"


class _AsUsual:
    """What the C reader wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.__getitem__


def _quick() -> tuple[Callable[[str], Any], Callable[..., str]]:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

    usual: Any = _AsUsual
    scan = make_scanner(usual)

    def read(text: str) -> Any:
        start = len(text) - len(text.lstrip(_SPACE))
        try:
            value, end = scan(text, start)
            if not text[end:].strip(_SPACE):
                return value
        except (StopIteration, ValueError, SystemError, RecursionError):
            # Without its package the C reader cannot even word its error.
            pass
        return _usual()[0](text)

    def write(value: object, *, sort_keys: bool = False) -> str:
        encode = make_encoder({}, str, encode_basestring_ascii, None, ": ", ", ", sort_keys, False, True)
        return "".join(encode(value, 0))

    # Tried once: these parts are CPython's own affair and may look different in another version.
    if read(write({"a": [1, 2.5, None, "é"]}, sort_keys=True)) != {"a": [1, 2.5, None, "é"]}:
        raise ImportError("the C reader and writer are not as expected")
    return read, write


def _usual() -> tuple[Callable[[str], Any], Callable[..., str]]:
    import json

    def write(value: object, *, sort_keys: bool = False) -> str:
        return json.dumps(value, sort_keys=sort_keys, default=str)

    return json.loads, write


try:
    _read, _write = _quick()
except Exception:
    _read, _write = _usual()


def loads(data: bytes) -> Any:
    """The value. Raises `ValueError` when it is none, and `RecursionError` when it is nested too deeply."""
    return _read(data.decode("utf-8", "replace"))


def dumps(value: object, *, sort_keys: bool = False) -> str:
    """The value as ASCII text; what JSON does not know is written as its `str`."""
    return _write(value, sort_keys=sort_keys)
