"""The shell completes commands, options and keys; in a real bash, with the lines that Touchline gives it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import environment, touchline


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("touchline config e", ["explain"]),
        ("touchline config explain hooks.", ["hooks.cap"]),
        ("touchline config show --or", ["--origin"]),
        ("touchline ini", ["init"]),
        ("touchline hook install c", ["claude", "codex"]),
        ("touchline init --for", ["--force"]),
    ],
)
def test_bash_is_told_what_may_come_next(line: str, offered: list[str]) -> None:
    told = touchline(_TOUCHLINE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1))
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == offered


@pytest.mark.parametrize(("shell", "line"), [("zsh", "compdef"), ("fish", "complete --command touchline")])
def test_other_shells_get_their_lines(shell: str, line: str) -> None:
    told = touchline(_TOUCHLINE_COMPLETE=f"source_{shell}")
    assert (told.returncode, line in told.stdout) == (0, True), told.stdout


def test_a_real_bash_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    program = tmp_path / "touchline"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m touchline "$@"\n')
    program.chmod(0o755)
    lines = touchline(_TOUCHLINE_COMPLETE="source_bash").stdout
    assert "complete " in lines
    script = (
        f"{lines}\nCOMP_WORDS=(touchline config ex)\nCOMP_CWORD=2\n"
        "function=$(complete -p touchline | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n"
        '"$function" touchline ex config\necho "offered: ${COMPREPLY[*]}"\n'
    )
    env = environment(PATH=f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False, env=env)
    assert "offered: explain" in done.stdout, done.stderr
