"""Do two running tasks touch the same lines? Found from their clones while they work, before any merge.

Files are compared with the commit the clone began with, without git and without trusting anything in the clone but
its text. Line numbers are those of the base, so that two clones of the same base can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

Lines = tuple[int, int]
"""First and last line, counted from 1; an insertion is the line it comes after, twice."""
MOST_FILES = 2_000
MOST_BYTES = 400_000
_PASSED_BY = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "target", "dist", "build", ".tox"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two tasks that change the same place."""

    file: str
    one: str
    other: str
    lines: tuple[Lines, ...]
    """Where, in the base's numbering. For a file that both create: the whole of it, as (0, 0)."""


def changed_lines(before: str, after: str) -> tuple[Lines, ...]:
    """Which lines of `before` a change touches."""
    old, new = before.splitlines(), after.splitlines()
    return tuple(
        (first + 1, last) if last > first else (first, first)
        for tag, first, last, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    )


def overlapping(one: tuple[Lines, ...], other: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """The places that both touch."""
    found = []
    for a in one:
        for b in other:
            first, last = max(a[0], b[0]), min(a[1], b[1])
            if first <= last:
                found.append((first, last))
    return tuple(sorted(set(found)))


def find_overlaps(changes: Mapping[str, Mapping[str, tuple[Lines, ...]]]) -> tuple[Overlap, ...]:
    """All pairs of tasks that touch the same place; `changes` are the lines by file, by task."""
    found: list[Overlap] = []
    for (one, mine), (other, theirs) in combinations(sorted(changes.items()), 2):
        found += [
            Overlap(file=file, one=one, other=other, lines=both)
            for file in sorted(set(mine) & set(theirs))
            if (both := overlapping(mine[file], theirs[file]))
        ]
    return tuple(found)


def changes_in(clone: Path, base: Mapping[str, str]) -> dict[str, tuple[Lines, ...]]:
    """The lines that a clone has changed, by file. `base` are the texts it began with."""
    found: dict[str, tuple[Lines, ...]] = {}
    seen: set[str] = set()
    for path in _texts(clone):
        name = path.relative_to(clone).as_posix()
        seen.add(name)
        text = _read(path)
        if text is None or base.get(name) == text:
            continue
        found[name] = changed_lines(base[name], text) if name in base else ((0, 0),)
    for name in set(base) - seen:
        if not (clone / name).exists():
            found[name] = ((1, max(1, base[name].count("\n"))),)
    return found


def texts_in(folder: Path) -> dict[str, str]:
    """Every text of a folder, as a base to compare with."""
    return {path.relative_to(folder).as_posix(): text for path in _texts(folder) if (text := _read(path)) is not None}


def _texts(folder: Path) -> Iterator[Path]:
    number = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _PASSED_BY)
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_symlink() or not path.is_file():
                continue
            number += 1
            if number > MOST_FILES:
                return
            yield path


def _read(path: Path) -> str | None:
    """A text, or None for what is too big, is none, or went away just now."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
