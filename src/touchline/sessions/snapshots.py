"""Which files did the workspace hold before and after each turn? Two looks at it, kept beside the turn's stream."""

from __future__ import annotations

import json
from pathlib import Path

from touchline.agents.workspaces.snapshot import snapshot
from touchline.supervision.snapshot import Snapshot


def keep(folder: Path, when: str, number: int, workspace: Path) -> None:
    """Write down what is there now, unless it was: a turn that is begun again keeps its first look."""
    path = folder / f"{when}-{number}.json"
    if path.exists() and when == "before":
        return
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(snapshot(workspace)), encoding="utf-8")
    part.replace(path)


def kept(folder: Path, number: int, workspace: str = "") -> Snapshot | None:
    """Both looks at a turn; None when one is not there."""
    try:
        before, after = (
            {path: (int(size), stamp) for path, (size, stamp) in json.loads(text).items()}
            for text in ((folder / f"{when}-{number}.json").read_text("utf-8") for when in ("before", "after"))
        )
    except (OSError, ValueError):
        return None
    return Snapshot(before=before, after=after, root=workspace)
