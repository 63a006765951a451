"""A machine on which nothing may be written: every command still says what to do, in a sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.agents.confined import needs_bubblewrap
from tests.cli.command import environment

pytestmark = pytest.mark.timeout(100)


def read_only(*arguments: str) -> subprocess.CompletedProcess[str]:
    needs_bubblewrap()
    return subprocess.run(
        [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            sys.executable,
            "-m",
            "touchline",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["doctor"], {0, 1}, "TMPDIR"),
        (["demo"], {2}, "TMPDIR"),
        (["hook", "install", "claude", "--yes"], {2}, "Nothing was changed."),
    ],
)
def test_it_is_told_in_a_sentence(command: list[str], code: set[int], words: str) -> None:
    done = read_only(*command)
    assert done.returncode in code, done.stderr
    assert words in f"{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
