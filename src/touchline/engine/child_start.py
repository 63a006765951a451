"""The first thing a child process does: tie its life to its parent's, write down who it is, become the command.

A program of its own (standard library only, started with -I -S), because none of this is safe between fork and exec
in a process with threads. Arguments: the record's path, the parent's pid, the token, then the command.
"""

import json
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def started(pid: int | str) -> int | None:
    """When a process began, in clock ticks since the machine did; with its pid this names it for good."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def main() -> None:
    path, parent, token, *command = sys.argv[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(137)  # the parent died before the line above
    record = {
        "pid": os.getpid(),
        "started": started("self"),
        "parent": int(parent),
        "parent_started": started(parent),
        "boot": boot(),
        "token": token,
    }
    part = Path(path + ".part")
    part.write_text(json.dumps(record), encoding="ascii")
    part.replace(path)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is the caller's, and no shell is wanted
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
