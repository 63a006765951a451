"""The first thing a child process does: tie its life to its parent's, write down who it is, run the command.

A program of its own (started with -I -S), because none of this is safe between fork and exec in a process with
threads. It imports as little as it can: as a keeper it stays for as long as the command runs. Arguments: the record's
path, the record without the pid, the parent's pid, `keep` or `become`, the limit of processes, its folder, the command.

`keep`: it stays above the command as the one that orphans fall to, and ends all of them when the command has ended,
when it is told to (SIGUSR1), or when the parent is dead. SIGTERM is passed on. `become`: for a command that does the
same for its own (bubblewrap with a PID namespace); the memory of a keeper is saved.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

TYPE_CHECKING = False  # as in `typing`, which like `signal` costs a keeper more time and memory than all it does
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal  # the same functions and numbers, without names for the numbers

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
END_NOW = signal.SIGUSR1
PARENT_DIED = signal.SIGUSR2
_WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, END_NOW, PARENT_DIED}
_END_SECONDS = 5.0


def started(pid: int | str) -> int | None:
    """When a process began, in clock ticks since the machine did; with its pid this names it for good."""
    found = _stat(pid)
    return found[1] if found else None


def boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def descendants(root: int) -> dict[int, int]:
    """The living below a process: their pids and when each began."""
    below: dict[int, list[tuple[int, int, str]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _stat(name)):
            parent, began, state = found
            below.setdefault(parent, []).append((int(name), began, state))
    living: dict[int, int] = {}
    waiting = [root]
    while waiting:
        for pid, began, state in below.pop(waiting.pop(), ()):
            waiting.append(pid)
            if state not in "ZX":
                living[pid] = began
    return living


def send(pid: int, began: int, number: int) -> bool:
    """Signal this very process and no other that might get its number in between."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if started(pid) != began:
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def end_descendants(root: int, seconds: float = _END_SECONDS) -> int | None:
    """SIGKILL to everything below a process, until nothing lives there; how many there were, None if some live on.

    They are stopped first: who is stopped cannot fork while the others are being found.
    """
    until = time.monotonic() + seconds
    stopped: set[tuple[int, int]] = set()
    while living := set(descendants(root).items()):
        if time.monotonic() > until:
            return None
        new = living - stopped
        for pid, began in new:
            send(pid, began, signal.SIGSTOP)
        stopped |= new
        if not new or time.monotonic() > until - seconds / 2:
            for pid, began in living:
                send(pid, began, signal.SIGKILL)
            if root == os.getpid():
                _reap(0)
            time.sleep(0.005)
    return len(stopped)


def main() -> None:
    path, about, parent, mode, limit, folder, *command = sys.argv[1:]
    linux = sys.platform == "linux"
    keeping = linux and mode == "keep"
    if linux:
        if keeping:
            signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
        _prctl(PR_SET_PDEATHSIG, PARENT_DIED if keeping else signal.SIGKILL)
    if os.getppid() != int(parent):
        os._exit(137)  # the parent died before the line above
    with open(path + ".part", "w", encoding="ascii") as file:
        file.write(f'{about[:-1]}, "pid": {os.getpid()}, "started": {started("self") or 0}}}')
    os.replace(path + ".part", path)
    try:
        _limit(int(limit), folder)
    except (OSError, ValueError) as error:
        print(f"The number of processes cannot be limited to {limit}: {error}", file=sys.stderr, flush=True)
        os._exit(126)
    if not keeping:
        _become(command)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        os.setsid()
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(137)
        _become(command)
    # The pipes are the command's alone: who reads them sees their end when it has gone.
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    _keep(child, int(parent))


def _keep(child: int, parent: int) -> NoReturn:
    while True:
        match signal.sigwaitinfo(_WATCHED).si_signo:
            case signal.SIGCHLD:
                status = _reap(child)
                if status is not None:
                    end_descendants(os.getpid())
                    _leave(status)
            case signal.SIGTERM:
                _to_group(child, signal.SIGTERM)
            case _ if os.getppid() != parent:
                end_descendants(os.getpid())
                os._exit(137)
            case number if number == END_NOW:
                _to_group(child, signal.SIGKILL)
                os.kill(child, signal.SIGKILL)  # the status of a killed command, whatever it made of its group
            case _:
                pass  # the thread that started us ended, and its process did not: we live on


def _reap(child: int) -> int | None:
    """Take in whoever ended; the child's status when it was among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def _to_group(child: int, number: int) -> None:
    try:
        os.killpg(child, number)
    except OSError:
        try:
            os.kill(child, number)  # it has no group of its own yet
        except OSError:
            return


def _leave(status: int) -> NoReturn:
    """End as the command ended, so that the parent sees no difference."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        _prctl(PR_SET_DUMPABLE, 0)  # one core file is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def _limit(limit: int, folder: str) -> None:
    if not limit:
        return
    if folder:
        os.makedirs(folder, exist_ok=True)
        for name, value in (("pids.max", limit), ("cgroup.procs", os.getpid())):
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                file.write(str(value))
    else:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _become(command: list[str]) -> NoReturn:
    # What is ignored is inherited. Python ignores SIGPIPE: `yes | head` would never end. Whoever started us in a
    # background may have us ignore any of the others: an agent could not be interrupted.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is the caller's, and no shell is wanted
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _stat(pid: int | str) -> tuple[int, int, str] | None:
    """A process's parent, when it began, and its state."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[1]), int(fields[19]), fields[0]) if len(fields) > 19 else None


if __name__ == "__main__":
    main()
