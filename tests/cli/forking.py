"""The command line without its start-up: a process that has everything imported and forks for each command.

Each command is still a process of its own, with its own arguments, environment, folder and streams, run to its end
as `python -m touchline` would run it. Hundreds of them would spend most of a test run on importing the same modules.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 1 << 20


def touchline_run(
    arguments: Sequence[str], *, env: Mapping[str, str], cwd: Path | None = None, timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run` of `python -m touchline` with captured output and nothing to read."""
    line = [sys.executable, "-m", "touchline", *arguments]
    if any(name.startswith(("PYTHON", "LANG", "LC_")) and os.environ.get(name) != env[name] for name in env):
        # What the interpreter makes of these it makes as it starts.
        return subprocess.run(
            line,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
        )
    told = json.dumps({"arguments": list(arguments), "env": dict(env), "cwd": str(cwd or Path.cwd())}).encode()
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with open(os.devnull, "rb") as nothing:
            files = array.array("i", [nothing.fileno(), out.fileno(), err.fileno(), theirs.fileno()])
            with _Server.lock:
                _server().socket.sendmsg([told], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        theirs.close()
        ours.settimeout(timeout)
        pid = int(ours.recv(32))
        try:
            status = ours.recv(32)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(line, timeout) from None
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(line, int(status), out.read().decode(), err.read().decode())


class _Server:
    """The test's end."""

    lock = threading.Lock()

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_BYTES)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.forking", str(theirs.fileno())], cwd=ROOT, pass_fds=[theirs.fileno()]
            )
        atexit.register(self.close)

    def close(self) -> None:
        self.socket.close()
        self._process.wait()


@cache
def _server() -> _Server:
    return _Server()


def main(number: int) -> None:
    import dbos  # noqa: F401 - what takes the time
    import psycopg  # noqa: F401

    import touchline.cli
    import touchline.engine.dbos_driver
    import touchline.engine.dbos_flow
    import touchline.store.migrate

    for module in pkgutil.iter_modules(touchline.cli.__path__):
        importlib.import_module(f"touchline.cli.{module.name}")
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=number) as server:
        _serve(server)


def _serve(server: socket.socket) -> None:
    """Fork for every request, until there are no more."""
    while True:
        told, ancillary, _, _ = server.recvmsg(MOST_BYTES, socket.CMSG_SPACE(4 * 4))
        if not told:
            return
        files = array.array("i")
        files.frombytes(ancillary[0][2])
        if (between := os.fork()) == 0:
            if (pid := os.fork()) == 0:
                server.close()
                _run(json.loads(told), list(files))
            _report(pid, files[3])
        for each in files:
            os.close(each)
        os.waitpid(between, os.WNOHANG)
        _collect()


def _collect() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _report(pid: int, answer: int) -> NoReturn:
    """Between the server and the command: tells which process it is, and how it ended."""
    os.write(answer, f"{pid}".encode().ljust(32))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        os.write(answer, f"{code}".encode())
    os._exit(0)


def _run(told: dict[str, object], files: list[int]) -> NoReturn:
    for target, file in enumerate(files[:3]):
        os.dup2(file, target)
    for file in files:
        os.close(file)
    os.environ.clear()
    os.environ.update(told["env"])  # type: ignore[call-overload]
    os.chdir(str(told["cwd"]))
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["touchline", *told["arguments"]]  # type: ignore[misc]
    code: object = 0
    try:
        runpy.run_module("touchline", run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        code = leaving.code
    # As an interpreter ends, without taking all modules apart: that would take longer than most commands.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main(int(sys.argv[1]))
