"""How does a step run a program that cannot outlive us? Started tied to this process, ended by the kill ladder, and
what is left of it after a crash is found and ended at the next start.

A process is only ever ended when its pid and start time are the recorded ones, or when it carries the random token
that its ancestor was given in its environment. Linux; elsewhere a child's children may survive a crash.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from touchline.engine import child_start
from touchline.engine.child_start import boot, started
from touchline.errors import EngineError
from touchline.store.fault_points import fault_point
from touchline.store.place import Place, data_folder

TOKEN = "TOUCHLINE_CHILD"  # noqa: S105 - the name of a variable
GRACE_SECONDS = 5.0
_POLL = 0.1
_SHIM = child_start.__file__


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child process ended."""

    how: Literal["exited", "timed_out", "stopped"]
    exit_code: int
    """Minus the signal's number when a signal ended it."""
    seconds: float


def children_folder(place: Place, *, env: Mapping[str, str], home: Path) -> Path:
    """Where this machine's records of child processes are: beside a SQLite database, else in the data folder."""
    parent = place.path.parent if place.path is not None else data_folder(env, home)
    return parent / "children"


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
) -> Ended:
    """Run a command to its end, in a session of its own; what it writes is added to `output`.

    It is ended (SIGTERM, `grace` seconds, SIGKILL) at the timeout or when `must_stop` says so, asked every second.
    Nothing it started survives its end. It dies with this process, and with the thread that called this.
    """
    if not command:
        raise EngineError("There is no command to run.")
    records.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(16)
    record = records / f"{token}.json"
    fault_point("child.starting")
    began = time.monotonic()
    with _opened(output) as sink:
        process = subprocess.Popen(  # noqa: S603 - the command is the caller's; no shell
            [sys.executable, "-I", "-S", _SHIM, str(record), str(os.getpid()), token, *command],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**(os.environ if env is None else env), TOKEN: token},
            start_new_session=True,
        )
    fault_point("child.started")
    how: Literal["exited", "timed_out", "stopped"] = "exited"
    asked = began
    try:
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
            moment = time.monotonic()
            if timeout is not None and moment - began > timeout:
                how = "timed_out"
                break
            if must_stop is not None and moment - asked >= 1:
                asked = moment
                if must_stop():
                    how = "stopped"
                    break
    finally:
        _ladder(process, grace if how != "exited" else 0.0)
        end_token(token)
        record.unlink(missing_ok=True)
    fault_point("child.finished")
    return Ended(how=how, exit_code=process.returncode, seconds=time.monotonic() - began)


def end_leftovers(records: Path) -> int:
    """End what processes that died left running on this machine; how many. Children of the living are left alone."""
    count = 0
    for path in sorted(records.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="ascii"))
            pid, token = int(record["pid"]), str(record["token"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # being written, or removed by its owner just now
        if record.get("boot") == boot():
            parent = started(record.get("parent", 0))
            if parent is not None and parent == record.get("parent_started"):
                continue
            count += _end(pid, lambda pid=pid, record=record: started(pid) == record.get("started"))  # type: ignore[misc]
            count += end_token(token)
        path.unlink(missing_ok=True)
    return count


def end_token(token: str) -> int:
    """End every process that inherited the token; how many."""
    mark = f"{TOKEN}={token}".encode()
    ours = [pid for pid in _pids() if pid != os.getpid() and _carries(pid, mark)]
    return sum(_end(pid, lambda pid=pid: _carries(pid, mark)) for pid in ours)  # type: ignore[misc]


def _ladder(process: subprocess.Popen[bytes], grace: float) -> None:
    if process.poll() is None and grace:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end(pid: int, is_it: Callable[[], bool]) -> int:
    """SIGKILL, to this process and no other that might get its number in between."""
    try:
        handle = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return 0
    try:
        if not is_it():
            return 0
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return 1
    except OSError:
        return 0
    finally:
        os.close(handle)


def _carries(pid: int, mark: bytes) -> bool:
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


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
