"""Turns for tests: a program that speaks as Claude Code does, or a real CLI, run by `run_turn` with plain defaults."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clis import CliHome

from touchline.agents.claude import driver as claude
from touchline.agents.port import Driver, Found, Level, Request
from touchline.agents.registry import driver_named
from touchline.agents.turns import Observer, Ran, Say, Stop, TurnLimits, run_turn
from touchline.supervision.facts import Event

PRELUDE = """
import json, os, sys, time
def tell(**record):
    sys.stdout.write(json.dumps(record) + "\\n"); sys.stdout.flush()
def begin():
    tell(type="system", subtype="init", session_id="s-1", model="m")
def speak(words):
    tell(type="assistant", message={"id": str(time.monotonic_ns()), "content": [{"type": "text", "text": words}]})
def call(name="Bash", **args):
    tell(type="assistant", message={"id": str(time.monotonic_ns()),
         "content": [{"type": "tool_use", "id": "call-1", "name": name, "input": args}]})
def answer(words="ok"):
    tell(type="user", message={"content": [{"type": "tool_result", "tool_use_id": "call-1", "content": words}]})
def result(**more):
    tell(**{"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s-1", **more})
def heard():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
"""


def nothing(_event: Event) -> None:
    return None


def once(kind: type[Any], what: Say | Stop) -> Observer:
    """Answers the first event of a kind, and no other."""
    left = [what]

    def observe(event: Event) -> Say | Stop | None:
        return left.pop() if left and isinstance(event, kind) else None

    return observe


@dataclass
class Seat:
    """Where turns are run: a folder, an environment, and what is given to every turn."""

    folder: Path
    driver: Driver = field(default_factory=lambda: claude)
    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": "/usr/bin:/bin"})
    workspace: Path | None = None
    allow: tuple[str, ...] = ()
    sessions: list[str] = field(default_factory=list)
    turns: int = 0

    @property
    def records(self) -> Path:
        return self.folder / "children"

    def program(self, body: str) -> Found:
        """A program of the given Python, in the place of the CLI's."""
        path = self.folder / "program"
        path.write_text(f"#!{sys.executable}\n{PRELUDE}\n{body}\n")
        path.chmod(0o755)
        return Found(path=path, version="1.0")

    def run(
        self,
        found: Found | None = None,
        *,
        prompt: str = "Do it.",
        limits: TurnLimits | None = None,
        observe: Observer = nothing,
        must_stop: Callable[[], bool] = lambda: False,
        level: Level = "none",
        spent_before: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Ran:
        self.turns += 1
        workspace = self.workspace or self.folder / "work"
        workspace.mkdir(exist_ok=True)
        found = found or self.driver.find(self.env)
        assert found is not None
        return run_turn(
            self.driver,
            Request(prompt=prompt, workspace=workspace, **{"keep": self.folder / "cli", **more}),
            found,
            level=level,
            env=self.env,
            records=self.records,
            raw=self.folder / f"turn-{self.turns}" / "raw.jsonl",
            limits=limits or TurnLimits(seconds=60, grace_seconds=3),
            observe=observe,
            must_stop=must_stop,
            on_session=self.sessions.append,
            spent_before=spent_before,
            allow=self.allow,
        )


def seat_of(home: CliHome, folder: Path) -> Seat:
    """A real CLI that talks to the rehearsal server."""
    return Seat(
        folder=folder,
        driver=driver_named(home.cli),
        env=home.env,
        workspace=home.workspace,
    )


def alive(marker: str) -> list[int]:
    """Pids of processes that carry a text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if marker.encode() in line and state != "Z":
                found.append(int(entry.name))
    return found
