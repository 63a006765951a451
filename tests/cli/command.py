"""The command line, started as a person starts it, and databases with something in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.cli.forking import touchline_run

from touchline.store.append import append
from touchline.store.database import Database
from touchline.store.events import Ids, NewEvent
from touchline.store.migrate import open_database


def touchline(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return touchline_run([*map(str, arguments)], env=environment(**env))


def started(*arguments: str | Path, **env: str) -> subprocess.Popen[str]:
    """Start a command; the caller ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", "touchline", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**env),
    )


def environment(**env: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHLINE_")}
    return {**kept, "NO_COLOR": "1", **env}


def said(*arguments: str | Path, code: int = 0, **env: str) -> dict[str, Any]:
    """What a command with --json prints."""
    done = touchline(*arguments, "--json", **env)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def made(url: str) -> Database:
    """An open, up-to-date database for tests."""
    return open_database(url, purpose="test")


def write(database: Database, events: Sequence[NewEvent]) -> list[int]:
    with database.writing() as connection:
        return append(connection, events)


def task_started(number: int, *, task: str = "task_1", source: str = "build") -> NewEvent:
    return NewEvent(
        type="task.started", payload={"attempt": number}, source=source, ids=Ids(task=task, build="build_1")
    )


def alert(text: str) -> NewEvent:
    payload = {"alert": "alert_1", "severity": "warning", "text": text}
    return NewEvent(type="alert.budget", payload=payload, source="monitor", ids=Ids(session="session_1"))
