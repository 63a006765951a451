"""How is a program run that cannot outlive us? Started tied to this process, ended as a whole by the kill ladder, and
what is left of it after a crash is found and ended at the next start (`end_leftovers`).

Linux; elsewhere only the child itself is sure to end, and a child's children may survive a crash.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from touchline.errors import EngineError
from touchline.processes import child_start, limits
from touchline.processes.child_start import END_NOW, boot, started
from touchline.processes.ending import TOKEN, end_carriers, end_leftovers, end_politely, end_tree
from touchline.store.fault_points import fault_point
from touchline.store.place import Place, data_folder

__all__ = ["GRACE_SECONDS", "Child", "Ended", "children_folder", "end_leftovers", "run_process", "start_child"]

GRACE_SECONDS = 5.0
OUTPUT_BYTES = 64 * 1024 * 1024
"""What a command may write that nobody reads meanwhile: an endless one would fill the disk long before its timeout."""
_KILL_SECONDS = 10.0
_POLL = 0.1
_SHIM = child_start.__file__


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child process ended."""

    how: Literal["exited", "timed_out", "stopped"]
    exit_code: int
    """Minus the signal's number when a signal ended it."""
    seconds: float
    flooded: bool = False
    """It was stopped because it had written more than it may."""


class Child:
    """A running command with everything below it. Use it with `with`: leaving ends the tree and closes the pipes.

    In the command's own sandbox (bubblewrap) it dies with the thread that started it, else with the process: let the
    thread that started a child be the one that ends it. The other methods may be called from any thread.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        kept: bool,
        record: Path,
        token: str,
        group: Path | None,
        stdout: IO[bytes] | None,
    ):
        self._process, self._kept, self._stdout = process, kept, stdout
        self._record, self._token, self._group = record, token, group
        self._began = started(process.pid)
        self._clean = False

    @property
    def pid(self) -> int:
        """The process at the top of the tree: bubblewrap, or the keeper above the command."""
        return self._process.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """None unless the child talks. Unbuffered; closing it is the kindest way to end a CLI."""
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self._stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        return self._process.stderr

    def poll(self) -> int | None:
        """The exit code, minus the signal's number when one ended it; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code; None when it still runs after that time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll()

    def end(self, grace: float = GRACE_SECONDS) -> int:
        """End the whole tree; its exit code. SIGTERM to the command's group, `grace` seconds, SIGKILL to all.

        To be called after a natural end, too. What was written before can still be read from the pipes. Bounded: when
        something will not die the record stays, and the next `end_leftovers` tries again.
        """
        if self.poll() is None and grace > 0:
            if self._kept:
                self._process.send_signal(signal.SIGTERM)
            else:
                end_politely(self.pid)
            self.wait(grace)
        if self.poll() is None:
            if self._kept:
                self._process.send_signal(END_NOW)
                self.wait(_KILL_SECONDS)
            if self.poll() is None:
                end_tree(self.pid, self._began)
                with suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
            self.wait(_KILL_SECONDS)
        if not self._clean and end_carriers(self._token, self._group) is not None:
            self._record.unlink(missing_ok=True)
            self._clean = True
        return -signal.SIGKILL if self._process.returncode is None else self._process.returncode

    def close(self) -> None:
        """Close the pipes that are still open."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with suppress(OSError):  # the command has gone and what was still to be written goes nowhere
                    pipe.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end(0.0)
        finally:
            self.close()


def children_folder(place: Place, *, env: Mapping[str, str], home: Path) -> Path:
    """Where this machine's records of child processes are: beside a SQLite database, else in the data folder."""
    parent = place.path.parent if place.path is not None else data_folder(env, home)
    return parent / "children"


def start_child(
    command: Sequence[str],
    *,
    records: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    talks: bool = False,
    processes: int = limits.PROCESSES,
) -> Child:
    """Start a command in a session of its own, with pipes for its output, and for its input when it `talks`.

    A command that does not talk has nothing to read (/dev/null): some CLIs wait for ever on an open pipe. `processes`
    limits how many processes and threads it may have at a time, 0 does not; see `limits.means` for whether it can be.
    """
    stdin = subprocess.PIPE if talks else subprocess.DEVNULL
    # Not a pipe: what an agent's tool starts could open that once more by /proc/<agent>/fd/1, and tell us in the
    # agent's name of calls that never were. A socket cannot be opened by its name.
    ours, theirs = socket.socketpair()
    with theirs:
        stdout = open(ours.detach(), "rb", buffering=0)  # noqa: SIM115 - the child's, who closes it
        try:
            return _start(command, records, cwd, env, processes, stdin, theirs.fileno(), subprocess.PIPE, stdout)
        except BaseException:
            stdout.close()
            raise


def run_process(
    command: Sequence[str],
    *,
    records: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
    timeout: float | None = None,
    must_stop: Callable[[], bool] | None = None,
    grace: float = GRACE_SECONDS,
    output_bytes: int = OUTPUT_BYTES,
) -> Ended:
    """Run a command to its end, in a session of its own; what it writes is added to `output`.

    It is ended (SIGTERM, `grace` seconds, SIGKILL) at the timeout, when `output` has grown beyond `output_bytes`, when
    `must_stop` says so, asked every second, or when that raises; what it raised is raised. Nothing it started survives
    its end.
    """
    began = time.monotonic()
    flooded = False
    with _opened(output) as sink:
        child = _start(command, records, cwd, env, limits.PROCESSES, subprocess.DEVNULL, sink, subprocess.STDOUT)
    with child:
        how: Literal["exited", "timed_out", "stopped"] = "exited"
        try:
            asked = began
            while child.wait(_POLL) is None:
                moment = time.monotonic()
                if timeout is not None and moment - began > timeout:
                    how = "timed_out"
                    break
                if _size(output) > output_bytes:
                    how, flooded = "stopped", True
                    break
                if must_stop is not None and moment - asked >= 1:
                    asked = moment
                    if must_stop():
                        how = "stopped"
                        break
        finally:
            # Nothing gentle for a flood: what it still wrote would only be more of it.
            code = child.end(0.0 if flooded else grace)
    fault_point("child.finished")
    return Ended(how=how, exit_code=code, seconds=time.monotonic() - began, flooded=flooded)


def _start(
    command: Sequence[str],
    records: Path,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    processes: int,
    stdin: int,
    stdout: int,
    stderr: int,
    heard: IO[bytes] | None = None,
) -> Child:
    if not command:
        raise EngineError("There is no command to run.", hint="Give the program and its arguments.")
    records.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    record = records / f"{token}.json"
    limit, group = limits.arguments(processes, token)
    about = {
        "token": token,
        "parent": os.getpid(),
        "parent_started": started("self"),
        "boot": boot(),
        "cgroup": str(group or ""),
    }
    kept = not _holds_its_own(command)
    shim = (
        str(record),
        json.dumps(about),
        str(os.getpid()),
        "keep" if kept else "become",
        str(limit),
        str(group or ""),
    )
    fault_point("child.starting")
    process = subprocess.Popen(  # noqa: S603 - the command is the caller's; no shell
        [sys.executable, "-I", "-S", _SHIM, *shim, *command],
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        bufsize=0,
        cwd=cwd,
        env={**(os.environ if env is None else env), TOKEN: token},
        start_new_session=True,
    )
    kept = kept and sys.platform == "linux"
    child = Child(process, kept=kept, record=record, token=token, group=group, stdout=heard)
    fault_point("child.started")
    return child


def _holds_its_own(command: Sequence[str]) -> bool:
    """True for bubblewrap with a PID namespace: who it runs cannot leave it, and ends with it."""
    return Path(command[0]).name == "bwrap" and {"--unshare-pid", "--die-with-parent"} <= set(command)


def _size(path: Path | None) -> int:
    try:
        return 0 if path is None else path.stat().st_size
    except OSError:
        return 0


class _opened:  # noqa: N801 - used as a function
    def __init__(self, path: Path | None) -> None:
        self._path, self._handle = path, subprocess.DEVNULL

    def __enter__(self) -> int:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return self._handle

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            os.close(self._handle)
