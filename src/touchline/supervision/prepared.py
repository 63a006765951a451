"""What was worked out at an earlier start, and need not be again? Compiled patterns, data files read from TOML, and the
code of the rules' modules.

Compiling the patterns takes four times as long as starting the interpreter. Who counts milliseconds (a hook, `touchline
decide`) opens a store with `use`, and saves with `keep` what it had to work out; for all others nothing changes. A
store is only a short cut: it is keyed by content and by interpreter, may be deleted at any time, and one that does not
fit in every respect is not used. What `re` does between a pattern and its code is private to CPython, so `re` itself
takes over wherever that is not as expected.
"""

from __future__ import annotations

import sys

from touchline import kept_file
from touchline.kept_file import Pieces
from touchline.kept_modules import KeptModules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping
    from typing import Any

_SMALL = 256
"""Nearly all steps of a compiled pattern are below this and kept as a byte each, of which a list is quickly made."""

_BETWEEN = "\0"
"""Between the words that a pattern needs: as one text they are read at once."""

_shapes: dict[str, re.Pattern[str]] = {}
_tables: dict[str, Any] = {}


class _Store:
    """What is known already, and what was added."""

    def __init__(self, path: str = "", kept: tuple[Pieces, ...] | None = None) -> None:
        self.path = path
        self.shapes, self.tables, bundles = kept or (Pieces(), Pieces(), Pieces())
        # Shapes by pattern: the words that it needs, and what the compiled pattern consists of.
        # Tables by file: its stamp, that of the module which made something of it, and what it says.
        self.modules = KeptModules(bundles)
        self.compiled: dict[str, re.Pattern[str]] = {}
        """What had to be compiled; taken apart at the end, so that what this takes is not kept among the rules."""

    @property
    def new(self) -> bool:
        return bool(self.shapes.added or self.tables.added or self.modules.missed)


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


def needed_in(pattern: str) -> tuple[str, ...]:
    """Words of which every match holds at least one, as far as the store knows the pattern; else none."""
    kept = _store.shapes.get(pattern)
    return tuple(kept[0].split(_BETWEEN)) if kept is not None and kept[0] else ()


def table(name: str, made: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What a TOML or JSON file beside the rules says, with a person's own laid over it; or what `made` makes of that.

    Raises `OSError`, `ValueError` or `SettingsError`, and what `made` raises. The caller must not change it, and
    what `made` makes is of plain values, since it is kept.
    """
    if name not in _tables:
        # Here, not above: what this module needs at once cannot come from the store.
        from touchline.supervision import own_words
        from touchline.supervision.data_files import data_path, data_text

        stamps = [kept_file.stamp(data_path(name))]
        own = own_words.own_file(name)
        if own is not None:
            stamps.append(kept_file.stamp(own))
        if made is not None:
            stamps.append(kept_file.stamp(made.__code__.co_filename))
        from marshal import dumps, loads

        kept = _store.tables.get(name)
        if kept is not None and kept[0] == stamps:
            _tables[name] = loads(kept[1])  # noqa: S302 - from a file that was found to be ours
        else:
            told = _told(name, data_text(name))
            if own is not None:
                told = own_words.laid_over(name, told, own)
            _tables[name] = told if made is None else made(told)
            _store.tables.added[name] = (stamps, dumps(_tables[name]))
    return _tables[name]


def _told(name: str, text: str) -> dict[str, Any]:
    if name.endswith(".json"):
        from touchline.plain_json import loads

        told: dict[str, Any] = loads(text.encode())
        return told
    import tomllib

    return tomllib.loads(text)


def store_path(env: Mapping[str, str]) -> str:
    """Where the store is; empty where no folder is known."""
    return kept_file.path_of(env, "rules")


def use(path: str) -> None:
    """Take from this store from now on; before the rules are imported, since they ask for patterns as they load."""
    global _store
    _step_aside()
    _store = _Store(path, kept_file.read(path) if path else None)
    if path:
        sys.meta_path.insert(0, _store.modules)


def keep() -> None:
    """Save what was added, or give up."""
    store = _store
    _step_aside()
    if not store.path:
        return
    for pattern, made in store.compiled.items():
        try:
            store.shapes.added[pattern] = _taken_apart(pattern, made)
        except Exception:  # private to CPython: without it, the pattern is compiled at each start
            store.shapes.drop(pattern)
    store.compiled.clear()
    if not store.new:
        return
    try:
        store.modules.take_missed()
    except (OSError, ImportError, ValueError):
        return
    kinds = (store.shapes, store.tables, store.modules.bundles)
    if kept_file.write(store.path, kinds):
        for each in kinds:
            each.added.clear()


def _step_aside() -> None:
    if _store.modules in sys.meta_path:
        sys.meta_path.remove(_store.modules)


def _known(pattern: str) -> re.Pattern[str] | None:
    kept = _store.shapes.get(pattern)
    if kept is None:
        return None
    try:
        import _sre  # type: ignore[import-not-found]
        from marshal import loads

        flags, groups, names, by_number, large, code = loads(kept[1])  # noqa: S302 - from a file found to be ours
        made: re.Pattern[str] = _sre.compile(pattern, flags, _steps(code, large), groups, names, by_number)
    except Exception:  # CPython checks the code; whatever it finds, the pattern itself is at hand
        _store.shapes.drop(pattern)
        return None
    return made


def _compiled(pattern: str) -> re.Pattern[str]:
    import re

    made = re.compile(pattern)
    if _store.path:
        _store.compiled[pattern] = made
    return made


def _taken_apart(pattern: str, made: re.Pattern[str]) -> tuple[Any, bytes]:
    """The parts that CPython makes the pattern of, tried once: put together they equal it."""
    import _sre
    from marshal import dumps
    from re import _compiler, _parser  # type: ignore[attr-defined]

    from touchline.supervision.needed_words import needed_words

    tree = _parser.parse(pattern, 0)
    steps: list[int] = _compiler._code(tree, 0)
    large = {at: int(step) for at, step in enumerate(steps) if step >= _SMALL}  # plain numbers, which can be kept
    code = bytes(0 if at in large else step for at, step in enumerate(steps))
    names = dict(tree.state.groupdict)
    by_number: list[str | None] = [None] * tree.state.groups
    for name, number in names.items():
        by_number[number] = name
    parts = (made.flags, tree.state.groups - 1, names, tuple(by_number))
    again = _sre.compile(pattern, parts[0], _steps(code, large), *parts[1:])
    if again != made:
        raise ValueError("compiled otherwise")
    return _BETWEEN.join(needed_words(tree)), dumps((*parts, large, code))


def _steps(code: bytes, large: dict[int, int]) -> list[int]:
    """The steps of a compiled pattern: a byte for each, and by their places those that need more."""
    steps = list(code)
    for at, step in large.items():
        steps[at] = step
    return steps
