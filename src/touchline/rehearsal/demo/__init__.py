"""What does `touchline demo` play? A small repository with a real bug, and what the model says.

Only the words of the model are made up. Commands run, tests fail and pass, the session is resumed for real.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCRIPT = HERE / "script.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The demo's task."""

    task: str
    check: str
    contract: Mapping[str, Any]
    files: Mapping[str, str]
    """The repository: path and content."""
    narration: Mapping[str, str]
    """What is told when something happens, with places for what really happened."""


@cache
def sample() -> Sample:
    """The task that comes with Touchline."""
    import tomllib

    return Sample(**tomllib.loads((HERE / "sample.toml").read_text(encoding="utf-8")))


def make_repository(folder: Path, env: Mapping[str, str]) -> Path:
    """The sample's repository, with one commit."""
    folder.mkdir(parents=True)
    for path, content in sample().files.items():
        (folder / path).write_text(content, encoding="utf-8")
    who = ("-c", "user.name=Demo", "-c", "user.email=demo@touchline.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet", "--template="), ("add", "-A"), (*who, "commit", "--quiet", "-m", "Begin")):
        subprocess.run(  # noqa: S603
            ["git", *command],  # noqa: S607 - the user's own git
            cwd=folder,
            env={**env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
            check=True,
            capture_output=True,
        )
    return folder
