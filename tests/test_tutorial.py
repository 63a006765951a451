"""The tutorial, done as it says: its own commands in a shell, with the real Claude Code.

Only three things stand in: the model's words come from a rehearsal, the session's id from the run's own output, and
`--yes` for the person at the keyboard.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clis import home_for

from touchline.rehearsal.server import serving

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "tutorial"
SCRIPT = r"""
turns:
  - text: I look at the test and at the code.
    calls:
      - shell: cat test_sums.py sums.py
  - calls:
      - shell: printf 'def add(a, b):\n    return a + b\n' > sums.py
  - calls:
      - shell: python3 -m unittest -q
  - text: "Fixed: add() subtracted. I ran the tests after the change: 1 test, OK."
  - text: I add sub() and its test.
    calls:
      - shell: |
          printf '\n\ndef sub(a, b):\n    return a - b\n' >> sums.py
          printf '\n    def test_sub(self):\n        from sums import sub\n' >> test_sums.py
          printf '        self.assertEqual(sub(3, 2), 1)\n' >> test_sums.py
          python3 -m unittest -q
  - text: "sub() is added, with a test. I ran the tests after the change: 2 tests, OK."
"""
SESSION = "4f9e21d07c5a"


def commands(page: str) -> list[str]:
    """Every command of the page, in order."""
    blocks = re.findall(r"```console\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.timeout(180)
def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    demo, *typed = commands("first-run.md")
    assert demo == "make demo", "which tests/cli/test_demo.py runs"
    with serving() as server:
        home = home_for("claude", server, tmp_path / "claude")
        home.play(SCRIPT)
        env = {
            **home.env,
            "PATH": f"{program(tmp_path).parent}{os.pathsep}{home.env['PATH']}",
            "XDG_DATA_HOME": str(tmp_path / "data"),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "TOUCHLINE_DATABASE_URL": f"sqlite:///{tmp_path / 'data' / 'app.db'}",
            "PYTEST_CURRENT_TEST": "tutorial",
            **{f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        folder, session = tmp_path, SESSION
        for command in typed:
            done = typed_in(command.replace(SESSION, session), folder, env)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            if command.startswith("git init"):
                folder = tmp_path / "sums"
            if command.startswith("touchline run"):
                assert "Accepted" in done.stdout
                assert "return a - b" in (folder / "sums.py").read_text(), "the checkout is not touched by a run"
                found = re.search(r"touchline apply (\w+)", done.stdout)
                assert found is not None, done.stdout
                session = found[1]
            if command.startswith("touchline sessions resume"):
                assert "Accepted" in done.stdout
        assert {command.split()[1] for command in typed if command.startswith("touchline")} == {
            "run",
            "sessions",
            "apply",
        }
        assert "def sub" in (folder / "sums.py").read_text()
        assert typed_in("git status --porcelain", folder, env).stdout == ""


def test_the_first_audit_works_as_written(tmp_path: Path) -> None:
    """The logs of a person's own agents are samples here, and the id is that of one of them."""
    make, *typed = commands("first-audit.md")
    assert make == "make venv"
    logs = tmp_path / "home" / ".claude" / "projects" / "shop"
    logs.mkdir(parents=True)
    for sample in (ROOT / "src" / "touchline" / "audit" / "samples" / "claude").glob("*.jsonl"):
        shutil.copy(sample, logs / sample.name)
    env = {"HOME": str(tmp_path / "home"), "PATH": f"{program(tmp_path).parent}{os.pathsep}{os.environ['PATH']}"}
    codes = []
    for command in typed:
        told = command.replace(".venv/bin/touchline", "touchline").replace("--since 30d", "").replace("--since 24h", "")
        if "--explain" in told:
            found = json.loads(typed_in("touchline audit --json", tmp_path, env).stdout)["sessions"]
            told = told.rpartition(" ")[0] + f" {found[0]['id'][:8]}"
        done = typed_in(told, tmp_path, env)
        assert done.stdout, f"{command}\n{done.stderr}"
        codes.append(done.returncode)
    assert codes == [0, 0, 0, 1], "the last one fails on the contradicted completion"
    assert (tmp_path / "out" / "audit.html").exists()


def program(folder: Path) -> Path:
    """The command, as it is on a person's PATH."""
    path = folder / "bin" / "touchline"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m touchline "$@"\n')
    path.chmod(0o755)
    return path


def typed_in(command: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    if command.startswith("touchline apply"):
        command += " --yes"
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=150, check=False
    )
