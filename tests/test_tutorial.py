"""The tutorial, done as it says: its own commands, the real Claude Code, a repository with a failing test.

Only two things stand in: the model's words come from a rehearsal, and the session's id from the run's own output.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clis import home_for

from touchline.rehearsal.server import serving

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial" / "first-run.md"
SCRIPT = """
turns:
  - text: I look at the test and at the code.
    calls:
      - shell: cat tests/test_sum.py sums.py
  - calls:
      - shell: printf 'def add(a, b):\\n    return a + b\\n' > sums.py
  - calls:
      - shell: python3 -m pytest -q -p no:cacheprovider
  - text: "Fixed: add() subtracted. I ran pytest after the change: 1 passed."
"""


def commands() -> list[str]:
    """Every command of the page, in order."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def test_the_page_has_the_commands_that_are_tried_here() -> None:
    heads = [" ".join(shlex.split(command)[:2]) for command in commands()]
    assert heads == ["make demo", "touchline run", "touchline sessions", "touchline apply"]


@pytest.mark.timeout(180)
def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    with serving() as server:
        home = home_for("claude", server, tmp_path / "claude")
        home.play(SCRIPT)
        repository = tmp_path / "sums"
        (repository / "tests").mkdir(parents=True)
        (repository / "sums.py").write_text("def add(a, b):\n    return a - b\n")
        (repository / "conftest.py").write_text("")
        (repository / "tests" / "test_sum.py").write_text(
            "from sums import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n"
        )
        git(repository, "init", "-q", "-b", "main")
        git(repository, "config", "user.name", "Ann")
        git(repository, "config", "user.email", "ann@example.org")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "Begin")
        env = {
            **home.env,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{home.env['PATH']}",
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "TOUCHLINE_DATABASE_URL": f"sqlite:///{tmp_path / 'data' / 'app.db'}",
            "PYTEST_CURRENT_TEST": "tutorial",
        }
        told = {" ".join(shlex.split(command)[:2]): command for command in commands()}
        done = type_in(told["touchline run"] + " --agent claude", repository, env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Accepted" in done.stdout
        assert "1 passed" in done.stdout
        assert "return a - b" in (repository / "sums.py").read_text(), "the checkout is not touched by a run"
        id = re.search(r"touchline apply (\w+)", done.stdout)
        assert id is not None, done.stdout
        done = type_in(told["touchline apply"].replace("4f9e21d07c5a", id[1]) + " --yes", repository, env)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "return a + b" in (repository / "sums.py").read_text()
        assert git(repository, "status", "--porcelain") == ""


def type_in(command: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=150, check=False
    )


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()
