"""What was worked out at an earlier start, and need not be again? Compiled patterns, data files read from TOML, and the
code of the rules' modules.

Compiling the patterns takes four times as long as starting the interpreter. Who counts milliseconds (a hook, `touchline
decide`) opens a store with `use`, and saves with `keep` what it had to work out; for all others nothing changes. A
store is only a short cut: it is keyed by content and by interpreter, may be deleted at any time, and one that does not
fit in every respect is not used. What `re` does between a pattern and its code is private to CPython, so `re` itself
takes over wherever that is not as expected.
"""

from __future__ import annotations

import os
import sys

from touchline.supervision import kept_file, own_words
from touchline.supervision.data_files import data_path, data_text
from touchline.supervision.kept_modules import KeptModules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping
    from typing import Any

_WIDTH = 4
"""Bytes of one step of a compiled pattern."""

_shapes: dict[str, re.Pattern[str]] = {}
_tables: dict[str, dict[str, Any]] = {}


class _Store:
    """What is known already, and what was added."""

    def __init__(self) -> None:
        self.path = ""
        self.new = False
        self.shapes: dict[str, tuple[Any, bytes | memoryview]] = {}
        """By pattern: what the compiled pattern consists of, and its code."""
        self.tables: dict[str, tuple[list[tuple[int, int]], dict[str, Any]]] = {}
        """By file: its stamp, that of the module which made something of it, and what it says."""
        self.modules = KeptModules({})


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


def table(name: str, made: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> dict[str, Any]:
    """What a TOML file beside the rules says, with a person's own laid over it; or what `made` makes of that.

    Raises `OSError`, `ValueError` or `SettingsError`, and what `made` raises. The caller must not change it.
    """
    if name not in _tables:
        stamps = [kept_file.stamp(data_path(name))]
        own = own_words.own_file(name)
        if own is not None:
            stamps.append(kept_file.stamp(own))
        if made is not None:
            stamps.append(kept_file.stamp(made.__code__.co_filename))
        kept = _store.tables.get(name)
        if kept is None or kept[0] != stamps:
            import tomllib

            told = tomllib.loads(data_text(name))
            if own is not None:
                told = own_words.laid_over(name, told, own)
            kept = (stamps, told if made is None else made(told))
            _store.tables[name], _store.new = kept, True
        _tables[name] = kept[1]
    return _tables[name]


def store_path(env: Mapping[str, str]) -> str:
    """Where the store of this interpreter and this Touchline is, by the XDG rules; empty where no folder is known."""
    cache = env.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        home = env.get("HOME", "")
        cache = os.path.join(home, ".cache") if os.path.isabs(home) else ""
    name = f"rules-{sys.implementation.cache_tag}-{kept_file.digest(__file__.encode())}.bin"
    return os.path.join(cache, "touchline", name) if cache else ""


def use(path: str) -> None:
    """Take from this store from now on; before the rules are imported, since they ask for patterns as they load."""
    _store.path = path
    if not path:
        return
    told = kept_file.read(path)
    if told is not None:
        (shapes, tables, modules), codes = told
        _store.shapes = {pattern: (parts, codes[start:end]) for pattern, (parts, start, end) in shapes.items()}
        _store.tables = tables
        _store.modules.kept = {name: (what, codes[start:end]) for name, (what, start, end) in modules.items()}
    sys.meta_path.insert(0, _store.modules)


def keep() -> None:
    """Save what was added, or give up."""
    modules = _store.modules
    if modules in sys.meta_path:
        sys.meta_path.remove(modules)
    if not _store.path or not (_store.new or modules.missed):
        return
    try:
        loaded = {**modules.kept, **modules.all_loaded()}
    except (OSError, ImportError, ValueError):
        return
    codes: list[bytes | memoryview] = []
    index = (_placed(_store.shapes, codes), _store.tables, _placed(loaded, codes))
    _store.new = modules.missed = not kept_file.write(_store.path, index, codes)


def _placed(
    held: Mapping[str, tuple[Any, bytes | memoryview]], codes: list[bytes | memoryview]
) -> dict[str, tuple[Any, int, int]]:
    """What is told of each, and where its code will stand."""
    placed: dict[str, tuple[Any, int, int]] = {}
    at = sum(map(len, codes))
    for name, (told, code) in held.items():
        placed[name] = (told, at, at + len(code))
        codes.append(code)
        at += len(code)
    return placed


def _known(pattern: str) -> re.Pattern[str] | None:
    kept = _store.shapes.get(pattern)
    if kept is None:
        return None
    try:
        import _sre  # type: ignore[import-not-found]

        flags, groups, names, by_number = kept[0]
        steps = memoryview(kept[1]).cast("I").tolist()
        made: re.Pattern[str] = _sre.compile(pattern, flags, steps, groups, names, by_number)
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


def _taken_apart(pattern: str, made: re.Pattern[str]) -> tuple[Any, bytes]:
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
    return (made.flags, tree.state.groups - 1, names, tuple(by_number)), steps.tobytes()
