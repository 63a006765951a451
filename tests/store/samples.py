"""Events as tests need them."""

from __future__ import annotations

import subprocess
import sys

from touchline.store.events import Ids, NewEvent


def note(number: int, *, source: str = "test", type: str = "metric.recorded") -> NewEvent:
    """An event that carries a number."""
    payload = {"name": "n", "value": number} if type == "metric.recorded" else {"component": str(number)}
    return NewEvent(type=type, payload=payload, source=source, ids=Ids(task=f"task_{number % 3}"))


def program(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def output_of(process: subprocess.Popen[str], *, code: int = 0) -> str:
    """What it printed, once it ended as it should."""
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    return stdout
