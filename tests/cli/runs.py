"""A person's repository and scripts for `touchline run`, and the command started beside the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import environment
from tests.cli.forking import touchline_run
from tests.sessions.house import alive, repository

MARK = "TOUCHLINE_SESSIONS_TEST"
HAPPY = """
turns:
  - {text: I write it., calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
"""
HEDGES = """
turns:
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}]}
  - {text: I wrote app.py. It should work now.}
  - {heard: System Coach, calls: [{shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
"""
ASKS = """
turns:
  - {text: Should I use the decimal module or plain floats for the sums?}
  - heard: use decimal
    calls: [{write: "${workspace}/app.py", content: "import decimal"}, {shell: python3 -m unittest -q}]
  - {text: "I used decimal in app.py. The tests pass: 1 test, OK."}
"""
LONG = """
turns:
  - {text: I begin., calls: [{shell: "sleep 600"}]}
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
"""


@dataclass
class Desk:
    """One person's folder: repository, database, scripts."""

    folder: Path

    @property
    def repo(self) -> Path:
        return self.folder / "repo"

    @property
    def database(self) -> str:
        return str(self.folder / "app.db")

    @property
    def env(self) -> dict[str, str]:
        return environment(
            HOME=str(self.folder / "home"),
            TMPDIR=str(self.folder / "tmp"),
            TOUCHLINE_SCRIPTED_HOME=str(self.folder / "scripted"),
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            TOUCHLINE_SESSIONS_TEST=str(self.folder),
        )

    def script(self, words: str) -> Path:
        path = self.folder / f"script-{time.monotonic_ns()}.yaml"
        path.write_text(words)
        return path

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "touchline", *map(str, arguments), "--database", self.database]

    def task(self, script: str, *more: str | Path, task: str = "Write the sum function.") -> list[str | Path]:
        return ["run", task, "--script", self.script(script), "--sandbox", "none", *more]

    def done(self, *arguments: str | Path, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        done = touchline_run(self.command(*arguments)[3:], env={**self.env, **env}, cwd=self.repo)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def lines(self, *arguments: str | Path, code: int = 0) -> list[dict[str, Any]]:
        """What a command that streams JSON prints."""
        return [json.loads(line) for line in self.done(*arguments, "--json", code=code).stdout.splitlines()]

    def told(self, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
        """What a command prints as one JSON object."""
        found: dict[str, Any] = json.loads(self.done(*arguments, "--json", code=code).stdout)
        return found

    def sessions(self) -> list[dict[str, Any]]:
        """Newest first; none while there is no database."""
        if not Path(self.database).exists():
            return []
        found: list[dict[str, Any]] = self.told("sessions", "list")["sessions"]
        return found

    @contextmanager
    def running(self, *arguments: str | Path) -> Iterator[Running]:
        """A command that is at work; ended with the block."""
        files = [open(self.folder / f"{time.monotonic_ns()}.{name}", "w+") for name in ("out", "err")]  # noqa: SIM115
        process = subprocess.Popen(
            self.command(*arguments),
            stdout=files[0],
            stderr=files[1],
            stdin=subprocess.DEVNULL,
            cwd=self.repo,
            env=self.env,
        )
        try:
            yield Running(process, Path(files[0].name), Path(files[1].name))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for file in files:
                file.close()

    def alive(self) -> list[int]:
        """Agents and their tools that still run."""
        return [pid for pid in alive(self.folder) if b"touchline.__main__" not in _line(pid) and not _is_ours(pid)]


@dataclass
class Running:
    """A command at work."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def until(self, words: str, seconds: float = 60.0) -> None:
        """Until it has said this."""
        end = time.monotonic() + seconds
        while words not in self.said():
            assert self.process.poll() is None, f"it ended: {self.said()}"
            assert time.monotonic() < end, f"never said {words!r}: {self.said()}"
            time.sleep(0.05)

    def said(self) -> str:
        return self.err.read_text() + self.out.read_text()

    def interrupt(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def code(self, seconds: float = 60.0) -> int:
        return self.process.wait(seconds)


def desk(folder: Path) -> Desk:
    """A person's folder with a repository in it."""
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    repository(folder / "repo")
    return Desk(folder)


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_ours(pid: int) -> bool:
    """The command itself carries the mark, too."""
    return b"-m\0touchline\0" in _line(pid)
