"""Which number does a new migration get? The next one that neither the repository nor another specification has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

_NUMBERED = re.compile(r"^(\d{1,6})([_-].+)$")
_FOLDERS = frozenset({"migrations", "migration", "versions"})


def is_migration(path: str) -> bool:
    """A file in a folder of migrations whose name begins with a number."""
    pure = PurePosixPath(path)
    return bool(_NUMBERED.match(pure.name)) and any(part in _FOLDERS for part in pure.parts[:-1])


def highest_number(repository: Path, folder: str) -> int:
    """The highest number in use in that folder; 0 when there is none."""
    try:
        names = [entry.name for entry in (repository / folder).iterdir()]
    except OSError:
        return 0
    return max((int(found[1]) for name in names if (found := _NUMBERED.match(name))), default=0)


def renumbered(paths: Iterable[str], repository: Path, *, allocate: Callable[[str, int], int]) -> dict[str, str]:
    """New names for the new migrations among the paths, numbered as the folder's are.

    `allocate(folder, at_least)` gives out a number once, also to specifications written at the same time.
    """
    names: dict[str, str] = {}
    for path in paths:
        pure = PurePosixPath(path)
        found = _NUMBERED.match(pure.name)
        if found is None or not is_migration(path):
            continue
        folder = str(pure.parent)
        number = allocate(folder, highest_number(repository, folder) + 1)
        names[path] = f"{folder}/{number:0{len(found[1])}d}{found[2]}"
    return names
