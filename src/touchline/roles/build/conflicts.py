"""Do two running tasks touch the same lines? Found from their clones while they work, before any merge.

Files are compared with the commit the clone began with, and nothing in the clone is trusted but its text. Line numbers
are those of the base, so that two clones of the same base can be compared. Lines are looked for only in files that both
changed, by git's own comparison: this runs in the build's loop, and must not hold it up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.agents.workspaces.host_git import HostGit
from touchline.errors import WorkspaceError

Lines = tuple[int, int]
"""First and last line, counted from 1; an insertion is the line it comes after, twice."""
MOST_FILES = 2_000
MOST_BYTES = 400_000
_DIFF_SECONDS = 5.0
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
_PASSED_BY = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "target", "dist", "build", ".tox"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Two tasks that change the same place."""

    file: str
    one: str
    other: str
    lines: tuple[Lines, ...]
    """Where, in the base's numbering. For a file that both create: the whole of it, as (0, 0)."""
    created: bool = False
    """Both create it."""


@dataclass(frozen=True, slots=True)
class Base:
    """A checkout of the commit that a clone began with. It never changes, so what was read of it is kept."""

    folder: Path
    _read: dict[str, str | None] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether there is anything of that name: asked of the folder, however many files it has."""
        return os.path.lexists(self.folder / name)

    def text(self, name: str) -> str | None:
        if name not in self._read:
            self._read[name] = _read(self.folder / name)
        return self._read[name]

    def names(self) -> list[str]:
        """Its files, as far as they are looked at."""
        if not self._names:
            self._names[:] = [path.relative_to(self.folder).as_posix() for path in _texts(self.folder)]
        return self._names


def changed_lines(before: str, after: str) -> tuple[Lines, ...]:
    """Which lines of `before` a change touches; all of them when that takes too long to find out."""
    with TemporaryDirectory(prefix="touchline-lines-") as place:
        folder = Path(place)
        (folder / "before").write_text(before, encoding="utf-8", newline="")
        (folder / "after").write_text(after, encoding="utf-8", newline="")
        options = ("--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--unified=0")
        try:
            git = HostGit(folder=folder)
            answer = git.run("diff", *options, "before", "after", codes=(0, 1), seconds=_DIFF_SECONDS)
        except WorkspaceError:
            return (whole(before),)
    hunks = ((int(found[1]), int(found[2] or b"1")) for found in _HUNK.finditer(answer.out))
    return tuple((first, max(first, first + count - 1)) for first, count in hunks)


def whole(text: str) -> Lines:
    """All lines of a text."""
    return 1, max(1, text.count("\n"))


def overlapping(one: tuple[Lines, ...], other: tuple[Lines, ...]) -> tuple[Lines, ...]:
    """The places that both touch."""
    found = []
    for a in one:
        for b in other:
            first, last = max(a[0], b[0]), min(a[1], b[1])
            if first <= last:
                found.append((first, last))
    return tuple(sorted(set(found)))


def find_overlaps(one: str, mine: Changes, other: str, theirs: Changes) -> tuple[Overlap, ...]:
    """Where two tasks touch the same place. Line numbers mean the same only where both began with the same text; the
    rest shows at the merge."""
    found: list[Overlap] = []
    for file in sorted(mine.files & theirs.files):
        if mine.base.text(file) != theirs.base.text(file) or mine.base.has(file) != theirs.base.has(file):
            continue
        created = not mine.base.has(file)
        both = ((0, 0),) if created else overlapping(mine.lines(file), theirs.lines(file))
        if both:
            found.append(Overlap(file=file, one=one, other=other, lines=both, created=created))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a clone has changed since it began."""

    clone: Path
    base: Base
    files: frozenset[str]

    def lines(self, file: str) -> tuple[Lines, ...]:
        """The lines of a file of the base that are changed; all of them when it is gone."""
        before, after = self.base.text(file) or "", _read(self.clone / file)
        return (whole(before),) if after is None else changed_lines(before, after)


def changes_in(clone: Path, base: Base) -> Changes:
    """The texts that a clone has changed, made or removed."""
    found: set[str] = set()
    for path in _texts(clone):
        name = path.relative_to(clone).as_posix()
        text = _read(path)
        if text is None or text == base.text(name) or (base.has(name) and base.text(name) is None):
            continue
        found.add(name)
    found |= {name for name in base.names() if base.text(name) is not None and not os.path.lexists(clone / name)}
    return Changes(clone=clone, base=base, files=frozenset(found))


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
