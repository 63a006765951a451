"""What does the file system say of a path that the agent named?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from touchline.supervision.contract import PathFacts

_CLOCK_SECONDS = 2.0
"""File systems and clocks may differ by as much."""


def facts_of(paths: Iterable[str], *, workspace: Path, since: datetime) -> dict[str, PathFacts]:
    """Whether each exists, lies inside the workspace by its real path, and was changed since then."""
    root = os.path.realpath(workspace)
    return {path: _facts(path, root, since.timestamp() - _CLOCK_SECONDS) for path in paths}


def _facts(path: str, root: str, since: float) -> PathFacts:
    try:
        real = os.path.realpath(path)
        inside = os.path.isabs(path) and os.path.commonpath([real, root]) == root
    except (OSError, ValueError):
        return PathFacts(exists=False, inside=False, fresh=False)
    try:
        stamp = os.stat(real).st_mtime if inside else 0.0
    except OSError:
        return PathFacts(exists=False, inside=inside, fresh=False)
    # What lies outside is none of our business, not even whether it is there.
    return PathFacts(exists=inside, inside=inside, fresh=inside and stamp >= since)
