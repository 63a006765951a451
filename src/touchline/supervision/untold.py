"""Which call changed a file, where no call's words tell it? Found by the time of the change, of each file's last one.

A change that a call told of itself is not a second one; neither is what a check or a formatter leaves behind: nobody
works on it, or it behaves as before. What is left was done by a script, and is an edit like any other.
"""

from __future__ import annotations

from touchline.supervision.commands import Part, plan_of
from touchline.supervision.evidence import Command, Write
from touchline.supervision.programs import name_of, tables
from touchline.supervision.snapshot import Snapshot
from touchline.supervision.tools import Change
from touchline.supervision.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SLACK = 0.002
"""Seconds: logs tell times in milliseconds, cut off."""

_CHECKS = frozenset({"test", "typecheck", "lint", "build"})
_LEAVES_THE_WORK = _CHECKS | {"look", "commit", "push", "pr"}


class Span(Value):
    """When a call began and ended; 0 where it is not known."""

    call: int
    begun: float = 0.0
    ended: float = 0.0


def untold(
    snapshot: Snapshot, spans: Sequence[Span], writes: Sequence[Write], commands: Sequence[Command], *, calls: int
) -> Iterator[tuple[int, Change]]:
    """The changes that no call of `spans`, which are those of the present turn, told; each with the call that made it.

    `writes` and `commands` are those of the whole session, `calls` is how many calls it has.
    """
    ran = {command.call: command for command in commands}
    first = spans[0].call if spans else calls
    doing = [c.call for c in commands if c.kinds & {"run", "edit", "install"}]
    default = doing[-1] if doing else max(0, calls - 1)
    for change in snapshot.changes():
        told = [w for w in writes if w.call >= first and _same(change.path, w.path, snapshot.root)]
        stamp = snapshot.stamp(change.path)
        at = default if stamp is None else _running(stamp, spans)
        if told and not _later(change, told[-1], stamp, at, spans):
            continue
        made = default if at is None else _doing(at, ran)
        if made is not None and not (told and made <= told[-1].call):
            yield made, change


def checks_itself(command: Command) -> bool:
    """The line runs a check after the last part of it that can have changed something."""
    parts = plan_of(command.text).parts
    last = max((at for at, part in enumerate(parts) if not _leaves_the_work(part)), default=-1)
    return any(part.kinds & _CHECKS for part in parts[last + 1 :])


def _later(change: Change, told: Write, stamp: float | None, at: int | None, spans: Sequence[Span]) -> bool:
    """Whether the file changed again after the call that told of it."""
    if stamp is None:
        return change.what == "deleted" and told.change != "deleted"
    ended = next((span.ended for span in spans if span.call == told.call), 0.0)
    return bool(ended) and stamp > ended + SLACK and at is not None


def _running(stamp: float, spans: Sequence[Span]) -> int | None:
    """The call that ran at that moment, or the last that had begun. Of calls made at once the first to end had it."""
    begun = [span for span in spans if 0 < span.begun <= stamp]
    running = next((span for span in begun if stamp <= span.ended + SLACK), None)
    found = running or (begun[-1] if begun else None)
    return None if found is None else found.call


def _doing(at: int, ran: Mapping[int, Command]) -> int | None:
    """This call, or the last one before it that can have changed the work; None when there is none."""
    while at >= 0 and at in ran and all(map(_leaves_the_work, plan_of(ran[at].text).parts)):
        at -= 1
    return at if at >= 0 else None


def _leaves_the_work(part: Part) -> bool:
    name = name_of(part.words)
    if part.kinds == {"edit"}:
        # What does not move contents about is a formatter or the like.
        return name not in tables()["moves"] and not part.targets
    return part.kinds <= _LEAVES_THE_WORK if part.kinds else name not in tables()["unpacks"]


def _same(path: str, told: str, root: str) -> bool:
    """Whether a path within the workspace is the one that a call told, from the root or from where the agent stood."""
    told = told.removeprefix("./").rstrip("/")
    if root and told.startswith(root.rstrip("/") + "/"):
        return told[len(root.rstrip("/")) + 1 :] == path
    if told.startswith("/"):
        return told.endswith("/" + path)
    return path == told or path.endswith("/" + told)
