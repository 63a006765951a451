"""How can the number of a child's processes be limited here? By a control group where one can be made, else by the
user's own limit, which the kernel does not hold root to.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

PROCESSES = 2048
"""Processes and threads of one child at a time: far more than a build needs, far less than a fork bomb makes."""
_FORGOTTEN_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What holds the number of a child's processes down."""

    by: Literal["cgroup", "rlimit", "nothing"]
    parent: Path | None = None
    """The control group below which each child gets one of its own."""

    def __str__(self) -> str:
        match self.by:
            case "cgroup":
                return "processes limited by a control group"
            case "rlimit":
                return "processes limited by the user's limit (RLIMIT_NPROC)"
            case "nothing":
                return "processes not limited: no control group can be made here, and root is above the user's limit"


@cache
def means() -> Means:
    """Found out once per process, by making a control group and removing it."""
    for parent in _candidates():
        if _can_limit(parent):
            remove_forgotten(parent)
            return Means(by="cgroup", parent=parent)
    return Means(by="rlimit" if os.getuid() else "nothing")


def arguments(limit: int, token: str) -> tuple[int, Path | None]:
    """What `child_start` is told: the number, and the control group to make; 0 when there is no means."""
    found = means()
    if not limit or found.by == "nothing":
        return 0, None
    if found.parent is not None:
        return limit, found.parent / f"touchline-{token}"
    return limit + _tasks_of_user(), None  # the kernel counts all of the user's, not the child's alone


def remove_forgotten(parent: Path, age: float = _FORGOTTEN_SECONDS) -> None:
    """Remove groups that nobody is in any more, where even the record was lost; younger ones may just be filling."""
    for group in parent.glob("touchline-*"):
        with suppress(OSError):  # one that somebody is in cannot be removed
            if time.time() - group.stat().st_mtime > age:
                group.rmdir()


def _candidates() -> Iterator[Path]:
    """Our own control group and its parent, of version 1 (`pids`) or 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    for line in lines:
        number, controllers, group = line.split(":", 2)
        for _, where, kind, options, *_ in mounts:
            if (kind == "cgroup" and "pids" in controllers.split(",") and "pids" in options.split(",")) or (
                kind == "cgroup2" and number == "0" and not controllers
            ):
                own = Path(where) / group.lstrip("/")
                yield own
                # Below a systemd user session the own group holds processes and so may have no children that count.
                if own != Path(where):
                    yield own.parent


def _can_limit(parent: Path) -> bool:
    trial = parent / f"touchline-trial-{secrets.token_hex(4)}"
    try:
        trial.mkdir()
    except OSError:
        return False
    try:
        (trial / "pids.max").write_text("1", encoding="ascii")
        # Moving a process needs this right on the group that both have in common.
        return os.access(trial / "cgroup.procs", os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            trial.rmdir()


def _tasks_of_user() -> int:
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError):
                if os.stat(f"/proc/{name}").st_uid == os.getuid():
                    total += len(os.listdir(f"/proc/{name}/task"))
    return total
