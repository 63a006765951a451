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
    before, after = (_look(folder, when, number) for when in ("before", "after"))
    return None if before is None or after is None else Snapshot(before=before, after=after, root=workspace)


def made_by_checks(folder: Path, workspace: Path) -> tuple[str, ...]:
    """Files that Touchline's own checks made, and that nobody changed since.

    A turn's last look is the check's first: a check that was killed and ran again is compared with that, too.
    """
    numbers = sorted(int(n) for path in folder.glob("checked-*.json") if (n := path.stem[8:]).isdigit())
    made: dict[str, tuple[int, float]] = {}
    for number in numbers:
        before, after = (_look(folder, when, number) for when in ("after", "checked"))
        if before is None or after is None:
            continue
        for path, look in after.items():
            if path not in before or (before[path] != look and made.get(path) == before[path]):
                made[path] = look
    if not made:
        return ()
    now = snapshot(workspace)
    return tuple(sorted(path for path, look in made.items() if now.get(path) == look))


def _look(folder: Path, when: str, number: int) -> dict[str, tuple[int, float]] | None:
    try:
        told = json.loads((folder / f"{when}-{number}.json").read_text("utf-8"))
        return {path: (int(size), stamp) for path, (size, stamp) in told.items()}
    except (OSError, ValueError):
        return None
