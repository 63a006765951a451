"""Which files does a workspace hold now, and when did each change last? Taken before and after a turn, without git.

The time is that of the last change of content or name as the system notes it (ctime): a copy that keeps its old date
still shows as new, and no program can set it back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from touchline.supervision.tools import is_by_product

MAX_FILES = 50_000
"""A workspace with more is looked at in part; what calls show counts all the same."""


def snapshot(workspace: Path) -> dict[str, tuple[int, float]]:
    """Each file's size and time, by its path within the clone; links are not followed, caches and build results are
    left out. At most `MAX_FILES`."""
    found: dict[str, tuple[int, float]] = {}
    for path, status in _files(str(workspace), ""):
        found[path] = (status.st_size, status.st_ctime)
        if len(found) >= MAX_FILES:
            break
    return found


def _files(folder: str, inside: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [(folder, inside)]
    while waiting:
        folder, inside = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    path = inside + entry.name
                    if entry.name == ".git" or is_by_product(entry.name):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, f"{path}/"))
                    else:
                        yield path, entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone or closed in between: what cannot be looked at is not there
