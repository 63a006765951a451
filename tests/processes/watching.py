"""What tests look at when processes come and go."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(true: Callable[[], object], seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)


def pid_in(path: Path) -> int:
    """The number that a process writes into a file about itself."""
    wait_until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def running(*command: str) -> list[int]:
    """The living with exactly this command line: choose one that no other process has."""
    wanted = b"".join(word.encode() + b"\0" for word in command)
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if line == wanted and lives(int(name)):
                found.append(int(name))
    return found


def children_of(pid: int) -> list[int]:
    """Direct children, zombies too."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(name))
    return found


def open_files() -> set[str]:
    """What our file descriptors lead to, without what others leave open for a moment."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            continue
    return found
