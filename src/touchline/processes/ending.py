"""Is anything of a child still alive, and how is it ended? By its place in the tree, its token, its control group.

A process is only ever ended when its pid and start time are the recorded ones or it descends from that process, when
it carries the random token that its ancestor was given in its environment, or when it is in the child's control group.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from touchline.processes.child_start import boot, descendants, end_descendants, send, started

TOKEN = "TOUCHLINE_CHILD"  # noqa: S105 - the name of a variable
_SECONDS = 5.0
_PAUSE = 0.01


def end_politely(pid: int) -> None:
    """SIGTERM to the group of a command, or of the command within bubblewrap, which would not pass it on."""
    while _name(pid) == "bwrap" and (below := _children(pid)):
        pid = below[0]
    with suppress(OSError):
        os.killpg(os.getpgid(pid), signal.SIGTERM)


def end_tree(pid: int, began: int | None, seconds: float = _SECONDS) -> int | None:
    """SIGKILL to a process and everything below it, those below first so that none is lost; how many, or None if some
    live on."""
    if began is None or _living([pid]) != {pid: began}:
        return 0
    count = end_descendants(pid, seconds)
    if not send(pid, began, signal.SIGKILL):
        return None
    until = time.monotonic() + seconds
    while _living([pid]) == {pid: began}:
        if time.monotonic() > until:
            return None
        time.sleep(_PAUSE)
    return None if count is None else count + 1


def end_carriers(token: str, group: Path | None = None, seconds: float = _SECONDS) -> int | None:
    """End all that carry the token or are in the control group, until there are none; None if some live on."""
    ended: set[int] = set()
    until = time.monotonic() + seconds
    while found := {**carriers(token), **_members(group)}:
        if time.monotonic() > until:
            return None
        ended.update(pid for pid, began in found.items() if send(pid, began, signal.SIGKILL))
        time.sleep(_PAUSE)
    return len(ended) if _removed(group, until) else None


def carriers(token: str) -> dict[int, int]:
    """The living that inherited the token, but for ourselves: their pids and when each began."""
    mark = f"{TOKEN}={token}".encode()
    return _living(pid for pid in _pids() if pid != os.getpid() and _carries(pid, mark))


def end_leftovers(records: Path) -> int:
    """End what processes that died left running on this machine; how many. Children of the living are left alone.

    A record stays until all that it stands for is gone.
    """
    count = 0
    for path in sorted(records.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="ascii"))
            pid, token = int(record["pid"]), str(record["token"])
            group = Path(record["cgroup"]) if record.get("cgroup") else None
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being written, or removed by its owner just now
        if record.get("boot") == boot():
            parent = started(record.get("parent", 0))
            if parent is not None and parent == record.get("parent_started"):
                continue
            tree, others = end_tree(pid, record.get("started")), end_carriers(token, group)
            count += (tree or 0) + (others or 0)
            if tree is None or others is None:
                continue
        path.unlink(missing_ok=True)
    return count


def _removed(group: Path | None, until: float) -> bool:
    """Remove an empty control group; the kernel needs a moment after the last of it died."""
    while group is not None:
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE)
    return True


def _members(group: Path | None) -> dict[int, int]:
    try:
        text = (group / "cgroup.procs").read_text(encoding="ascii") if group is not None else ""
    except OSError:
        return {}
    return _living(int(line) for line in text.split())


def _living(pids: Iterable[int]) -> dict[int, int]:
    found = {}
    for pid in pids:
        began = started(pid)
        if began is not None and not _is_zombie(pid):
            found[pid] = began
    return found


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2][1:2] in "ZX"
    except OSError:
        return True


def _children(pid: int) -> list[int]:
    return sorted(each for each in descendants(pid) if _parent(each) == pid)


def _parent(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[1])


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _carries(pid: int, mark: bytes) -> bool:
    # Asked of every process of the machine at the end of each child: without `Path`, which takes most of the time.
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            found = file.read()
    except OSError:
        return False
    return mark in found and mark in found.split(b"\0")


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
