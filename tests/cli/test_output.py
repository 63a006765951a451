"""What happens when the output cannot take what is written to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.people import person_at

AUDIT = [sys.executable, "-m", "touchline", "audit", "--samples"]


def test_a_reader_that_stops_reading_is_no_fault() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(AUDIT, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(write)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(AUDIT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 74
    assert "could not be written" in done.stderr


def test_an_output_that_knows_only_ascii_gets_numbers() -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(AUDIT, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert "\\u201c" in done.stdout


@pytest.mark.parametrize("arguments", [["doctor"], ["config", "explain", "run.agent"], ["config", "path"]])
def test_without_colours_no_escape_sequence_reaches_a_terminal(tmp_path: Path, arguments: list[str]) -> None:
    person = person_at(tmp_path)
    for no_colour in ("1", ""):
        _, shown = person.at_terminal(*arguments, answer="", TERM="xterm-256color", NO_COLOR=no_colour)
        assert ("\x1b" in shown) == (not no_colour), shown
