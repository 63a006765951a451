"""What does running a script change that the session itself wrote to a throw-away place?

`/tmp/fix.py` is no part of the work, but to run it is an edit of what it writes. Only scripts of one turn are known,
only by text that a write tool or a here-document shows, and only where a command names them by their path. Not
covered: scripts in the workspace (to run those is to run the work), shell scripts, those made by another program, and
functions that a script imports from elsewhere.
"""

from __future__ import annotations

from touchline.supervision.code_writes import writes_of
from touchline.supervision.commands import Plan
from touchline.supervision.tools import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT = 50
"""Scripts that are remembered; a session writes a few."""
FIRST_WORDS = 4
"""Where a command names its script: after the interpreter and some options."""


class ScratchScripts:
    """The scripts so far, each with what it writes."""

    def __init__(self) -> None:
        self.changes: dict[str, tuple[Change, ...]] = {}

    def take(self, change: Change) -> None:
        """Note a script that was written, or the text that an edit put into one."""
        name = change.path.rpartition("/")[2]
        found = writes_of(f".{name.rpartition('.')[2]}", change.new)
        if change.what == "changed":
            found = (*self.changes.get(change.path, ()), *found)
        self.changes.pop(change.path, None)
        if found and change.what != "deleted":
            self.changes[change.path] = found
            if len(self.changes) > KEPT:
                del self.changes[next(iter(self.changes))]

    def with_runs(self, plan: Plan, told: Iterable[tuple[int, Change]]) -> tuple[tuple[int, Change], ...]:
        """The changes that the line tells of itself, and those of the scripts that it runs, in their order."""
        found = list(told)
        for at, part in enumerate(plan.parts):
            if "run" not in part.kinds or part.code:
                continue
            for word in part.words[:FIRST_WORDS]:
                path = word if word.startswith(("/", "$", "~")) else f"{part.folder}/{word.removeprefix('./')}"
                found.extend((at, _within(change, part.folder)) for change in self.changes.get(path, ()))
        return tuple(sorted(found, key=lambda each: each[0]))


def _within(change: Change, folder: str) -> Change:
    """A path of the script is seen from where it was run."""
    if not folder or change.path.startswith(("/", "~", "$")):
        return change
    return Change(path=f"{folder.rstrip('/')}/{change.path}", what=change.what, new=change.new)
