"""A person with folders of their own in a repository, who starts `touchline` there; and one at a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import environment
from tests.cli.forking import touchline_run


@dataclass(frozen=True, kw_only=True)
class Person:
    """Their home, and the repository they are in."""

    home: Path
    root: Path

    @property
    def env(self) -> dict[str, str]:
        made = environment(
            HOME=str(self.home),
            XDG_CONFIG_HOME=str(self.home / "config"),
            XDG_STATE_HOME=str(self.home / "state"),
            XDG_DATA_HOME=str(self.home / "data"),
        )
        made.pop("CI", None)
        return made

    @property
    def file(self) -> Path:
        return self.root / "touchline.toml"

    def run(self, *arguments: str | Path, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        done = touchline_run([*map(str, arguments)], env={**self.env, **env}, cwd=self.root)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def told(self, *arguments: str | Path, code: int = 0, **env: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*arguments, "--json", code=code, **env).stdout)
        return found

    def at_terminal(self, *arguments: str, answer: str, **env: str) -> tuple[int, str]:
        """Run with a terminal at all ends, answering the first question; exit code and all that was shown."""
        child, terminal = pty.fork()
        if child == 0:
            try:
                os.chdir(self.root)
                line = [sys.executable, "-m", "touchline", *arguments]
                os.execve(sys.executable, line, {**self.env, "COLUMNS": "200", **env})
            finally:
                os._exit(99)
        shown, asked, until = "", False, time.monotonic() + 90
        while time.monotonic() < until:
            if not select.select([terminal], [], [], 0.5)[0]:
                continue
            try:
                more = os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break  # it has ended
            if not more:
                break
            shown += more
            if not asked and "[y/N]" in shown:
                asked = True
                os.write(terminal, answer.encode())
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def person_at(folder: Path) -> Person:
    person = Person(home=folder / "home", root=folder / "project")
    person.home.mkdir()
    person.root.mkdir()
    subprocess.run(["git", "init", "-q", str(person.root)], check=True)
    return person
