"""A process that has everything imported and forks on demand, so that hundreds of kills do not pay for hundreds of
imports. It speaks JSON lines: a command on its input, an answer on its output.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The test's end: runs `module.function(**arguments)` in processes that can be killed."""

    def __init__(self, log: Path) -> None:
        self._lock = threading.Lock()
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.zygote"],
                cwd=ROOT,
                env={**os.environ, "XDG_DATA_HOME": str(log.parent / "data")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
            )

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()

    def run(self, function: str, *, fault: str = "", kill_after: float | None = None, **arguments: Any) -> int:
        """Run to the end; the exit code, or minus the signal's number."""
        return int(self._ask(do="run", function=function, fault=fault, kill_after=kill_after, arguments=arguments))

    def spawn(self, function: str, *, fault: str = "", **arguments: Any) -> int:
        """Start, and return the pid."""
        return int(self._ask(do="spawn", function=function, fault=fault, arguments=arguments))

    def wait(self, pid: int) -> int:
        """Wait for a spawned process; its exit code, or minus the signal's number."""
        return int(self._ask(do="wait", pid=pid))

    def poll(self, pid: int) -> int | None:
        """The exit code if it has ended."""
        answer = self._ask(do="poll", pid=pid)
        return None if answer is None else int(answer)

    def _ask(self, **command: Any) -> Any:
        with self._lock:
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the zygote died")
        return json.loads(line)


def main() -> None:
    import dbos  # noqa: F401 - what takes the time
    import psycopg  # noqa: F401
    from tests.engine import sample_jobs, sample_programs, sample_run  # noqa: F401

    import touchline.engine.dbos_driver
    import touchline.engine.dbos_flow
    import touchline.store.migrate  # noqa: F401

    # What is there now is never collected again, and so never copied for a fork.
    gc.collect()
    gc.freeze()
    ended: dict[int, int] = {}
    for line in sys.stdin:
        command = json.loads(line)
        match command["do"]:
            case "run":
                pid = begun(ended, command)
                limit = command["kill_after"]
                if limit is not None:
                    until = time.monotonic() + limit
                    while pid not in ended and time.monotonic() < until:
                        collect(ended, pid)
                        time.sleep(0.003)
                    if pid not in ended:
                        os.kill(pid, signal.SIGKILL)
                answer: Any = waited(ended, pid)
            case "spawn":
                answer = begun(ended, command)
            case "wait":
                answer = waited(ended, command["pid"])
            case "poll":
                collect(ended, command["pid"])
                answer = ended.get(command["pid"])
        print(json.dumps(answer), flush=True)


def begun(ended: dict[int, int], command: dict[str, Any]) -> int:
    """A new process. The system gives its number again after some ten thousand others: it has not ended yet."""
    pid = fork(command)
    ended.pop(pid, None)
    return pid


def collect(ended: dict[int, int], pid: int) -> None:
    if pid not in ended:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended[pid] = os.waitstatus_to_exitcode(status)


def waited(ended: dict[int, int], pid: int) -> int:
    if pid not in ended:
        ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return ended[pid]


def fork(command: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        from touchline.store.fault_points import arm

        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        arm(command["fault"])
        module, _, name = command["function"].rpartition(".")
        code = getattr(importlib.import_module(module), name)(**command["arguments"]) or 0
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
