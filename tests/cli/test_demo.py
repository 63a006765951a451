"""`touchline demo`: everything but the model's words is real, with and without a sandbox."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.command import said, touchline

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(120)


def test_the_demo_shows_hedge_loop_and_nudge_and_ends_with_evidence(tmp_path: Path) -> None:
    done = touchline("demo", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    words = " ".join(done.stdout.split())
    at = [
        words.index(each)
        for each in (
            "The totals should be right now",
            "check python3 -m unittest -q: no pass, exit code 1, 1 failed, 2 passed",
            "coached [System Coach]",
            "failed exit code 1: FAILED (failures=1)",
            "steered [System Coach] A pattern worth breaking",
            "nudged The work of this session is not in question",
            "check python3 -m unittest -q: passed, exit code 0, 0 failed, 3 passed",
            "Accepted session",
            "unittest: 1 failed, 2 passed (run by Touchline)",
            "unittest: 1 failed, 2 passed (calls 3 to ",
            "on the way coached once, steered once, nudged once",
            "Next: touchline apply",
            "The nudge took",
        )
    ]
    assert at == sorted(at), words
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _, excerpt, _ = re.split(r"```text\n|```\n\nThe command", readme)
    for part in re.split(r"^\w+ +|…", excerpt, flags=re.MULTILINE):
        assert " ".join(part.split()) in words, "the README shows what it prints"


def test_kept_it_can_be_looked_at_and_applied(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    done = touchline("demo", "--keep", folder, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    database = str(folder / "demo.db")
    shown_commands = [shlex.split(line)[1:] for line in done.stderr.splitlines() if line.startswith("  touchline ")]
    assert len(shown_commands) == 4
    for command in shown_commands:
        assert touchline(*command).returncode == 0, command
    assert f"--database {database}" in " ".join(done.stdout.split()), "the next command is about the demo's database"
    (session,) = said("sessions", "list", "--database", database)["sessions"]
    shown = said("sessions", "show", session["session"], "--database", database)
    assert [(d["action"]) for d in shown["decisions"]] == ["continue", "nudge", "deliver"]
    assert shown["turns"][2]["cli_session"] == shown["turns"][0]["cli_session"], "the nudge is a real resume"
    assert said("apply", session["session"], "--yes", "--database", database)["applied"] is True
    assert "// 100" in (folder / "shop" / "prices.py").read_text()
    again = touchline("demo", "--keep", folder)
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)


def test_without_bubblewrap_it_says_so_and_works(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "sh", "python3", "env", "cat", "ls"):
        found = shutil.which(name)
        assert found is not None
        os.symlink(found, programs / name)
    done = touchline("demo", PATH=str(programs))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No sandbox on this machine" in done.stderr
    assert "sandbox none (asked for" in " ".join(done.stdout.split())
