"""What was worked out at an earlier start, and need not be again? Compiled patterns, and data files read from TOML.

Compiling the patterns takes four times as long as starting the interpreter. Who counts milliseconds (a hook, `touchline
decide`) opens a store with `use`, and saves with `keep` what it had to work out; for all others nothing changes. A
store is only a short cut: it is keyed by content and by interpreter, may be deleted at any time, and one that does not
fit in every respect is not used. What `re` does between a pattern and its code is private to CPython, so `re` itself
takes over wherever that is not as expected.
"""

from __future__ import annotations

import os
import sys

from touchline.plain_json import dumps, loads
from touchline.supervision.data_files import data_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from typing import Any

MARK = b"touchline.prepared/1 "
_WIDTH = 4
"""Bytes of one step of a compiled pattern."""

_shapes: dict[str, re.Pattern[str]] = {}
_tables: dict[str, dict[str, Any]] = {}


class _Store:
    """What is known already, and what was added."""

    def __init__(self) -> None:
        self.path = ""
        self.new = False
        self.shapes: dict[str, tuple[list[Any], bytes]] = {}
        """By pattern: what the compiled pattern consists of, and its code."""
        self.tables: dict[str, list[Any]] = {}
        """By file: the digest of its text, and what it says."""


_store = _Store()


def shape(pattern: str) -> re.Pattern[str]:
    """The compiled pattern. Flags stand in the pattern itself, as in `(?i)yes`. Raises `re.error`."""
    found = _shapes.get(pattern)
    if found is None:
        found = _known(pattern)
        if found is None:
            found = _compiled(pattern)
        _shapes[pattern] = found
    return found


def table(name: str) -> dict[str, Any]:
    """What a TOML file beside the rules says. Raises `OSError` or `ValueError`. The caller must not change it."""
    if name not in _tables:
        text = data_text(name)
        digest = _digest(text.encode())
        kept = _store.tables.get(name)
        if kept is None or kept[0] != digest:
            import tomllib

            kept = [digest, tomllib.loads(text)]
            _store.tables[name], _store.new = kept, True
        _tables[name] = kept[1]
    return _tables[name]


def store_path(env: Mapping[str, str]) -> str:
    """Where the store of this interpreter is, by the XDG rules; an empty text where no folder is known."""
    cache = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        home = env.get("HOME", "")
        cache = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    return os.path.join(cache, "touchline", f"rules-{sys.implementation.cache_tag}.bin") if cache else ""


def use(path: str) -> None:
    """Take from this store from now on; before the rules are imported, since they ask for patterns as they load."""
    _store.path = path
    try:
        with open(path, "rb") as file:
            raw = file.read()
        head, _, body = raw.partition(b"\n")
        *who, digest, size = head.split()
        if who != _mark().split() or digest.decode() != _digest(body):
            return
        told = loads(body[: int(size)])
        code = body[int(size) :]
        _store.tables = dict(told["tables"])
        for pattern, (parts, start, end) in told["shapes"].items():
            _store.shapes[pattern] = (parts, code[start:end])
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        # Not there, torn or strange: all is worked out anew, and saved over it.
        _store.shapes, _store.tables = {}, {}


def keep() -> None:
    """Save what was added, or give up: a short cut is not worth a fault."""
    if not _store.new or not _store.path:
        return
    shapes: dict[str, list[Any]] = {}
    code = bytearray()
    for pattern, (parts, steps) in _store.shapes.items():
        shapes[pattern] = [parts, len(code), len(code) + len(steps)]
        code += steps
    told = dumps({"shapes": shapes, "tables": _store.tables}).encode()
    body = told + bytes(code)
    whole = b"%s%s %d\n%s" % (_mark(), _digest(body).encode(), len(told), body)
    new = f"{_store.path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(_store.path), mode=0o700, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(whole)
        os.replace(new, _store.path)
        _store.new = False
    except OSError:
        pass


def _mark() -> bytes:
    """A store of another version of anything that matters begins otherwise."""
    version = getattr(sys.modules["touchline"], "__version__", "")
    who = _digest(f"{version} {sys.implementation.name} {sys.version} {sys.byteorder}".encode())
    return MARK + who.encode() + b" "


def _digest(data: bytes) -> str:
    try:
        from _blake2 import blake2b
    except ImportError:  # a private module of CPython, half as dear as hashlib
        from hashlib import blake2b
    return blake2b(data, digest_size=16).hexdigest()


def _known(pattern: str) -> re.Pattern[str] | None:
    kept = _store.shapes.get(pattern)
    if kept is None:
        return None
    try:
        import _sre  # type: ignore[import-not-found]

        flags, groups, names, by_number = kept[0]
        steps = memoryview(kept[1]).cast("I").tolist()
        made: re.Pattern[str] = _sre.compile(pattern, flags, steps, groups, names, tuple(by_number))
    except Exception:  # CPython checks the code; whatever it finds, the pattern itself is at hand
        del _store.shapes[pattern]
        return None
    return made


def _compiled(pattern: str) -> re.Pattern[str]:
    import re

    made = re.compile(pattern)
    if _store.path:
        try:
            _store.shapes[pattern] = _taken_apart(pattern, made)
            _store.new = True
        except Exception:  # private to CPython: without it, patterns are compiled at each start
            _store.shapes.pop(pattern, None)
    return made


def _taken_apart(pattern: str, made: re.Pattern[str]) -> tuple[list[Any], bytes]:
    """The parts that CPython makes the pattern of, tried once: put together they equal it."""
    import _sre
    from array import array
    from re import _compiler, _parser  # type: ignore[attr-defined]

    tree = _parser.parse(pattern, 0)
    steps = array("I", _compiler._code(tree, 0))
    names = dict(tree.state.groupdict)
    by_number: list[str | None] = [None] * tree.state.groups
    for name, number in names.items():
        by_number[number] = name
    again = _sre.compile(pattern, made.flags, steps.tolist(), tree.state.groups - 1, names, tuple(by_number))
    if again != made or steps.itemsize != _WIDTH or _sre.CODESIZE != _WIDTH:
        raise ValueError("compiled otherwise")
    return [made.flags, tree.state.groups - 1, names, by_number], steps.tobytes()
