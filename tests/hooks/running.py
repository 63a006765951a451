"""Runs a CLI in a project with hooks, and looks at what came of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.clis import CliHome, Ran

from touchline.rehearsal.runs import Played


def run_in(home: CliHome, prompt: str, *flags: str, **env: str) -> Ran:
    """Run the CLI with more in its environment."""
    done = subprocess.run(
        home.command(prompt, *flags),
        cwd=home.workspace,
        env={**home.env, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=80,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Ran(code=done.returncode, lines=lines, errors=done.stderr)


def played(home: CliHome) -> list[Played]:
    """What the model was asked, without titles and the like."""
    return [one for one in home.server.played(home.name) if not one.aside]


def told(home: CliHome) -> list[str]:
    """All that the model was newly told before each of its replies: words and results of tools."""
    return [f"{one.heard}\n{one.saw}" for one in played(home)]


def state_of(home: CliHome) -> Path:
    """Where hooks keep what they remember."""
    return home.home / ".local" / "state" / "touchline"


def log_of(home: CliHome) -> str:
    log = state_of(home) / "hooks.log"
    return log.read_text() if log.exists() else ""
