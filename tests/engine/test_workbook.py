"""A workbook says at once what does not fit, and when a clock ticks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine.zygote import ROOT

from touchline.engine.workbook import Workbook, cron_of
from touchline.errors import EngineError


@pytest.mark.parametrize(
    ("seconds", "cron"),
    [(1, "*/1 * * * * *"), (120, "0 */2 * * * *"), (7200, "0 0 */2 * * *"), (86400, "0 0 0 * * *")],
)
def test_seconds_as_a_clock_shows_them(seconds: int, cron: str) -> None:
    assert cron_of(seconds) == cron


@pytest.mark.parametrize("seconds", [0, -5, 7, 90, 7 * 3600, 30 * 3600])
def test_what_no_clock_shows_is_refused(seconds: int) -> None:
    with pytest.raises(EngineError, match="evenly"):
        cron_of(seconds)


def test_a_workbook_that_does_not_fit_is_refused() -> None:
    book = Workbook()
    book.workflow("a")(lambda flow: None)
    with pytest.raises(EngineError, match="Two workflows"):
        book.workflow("a")(lambda flow: 1)
    book.workflow("b", queue="nowhere")(lambda flow: None)
    with pytest.raises(EngineError, match="nowhere"):
        book.checked()
    ticking = Workbook()
    ticking.every("t", 60, "missing")
    with pytest.raises(EngineError, match="unknown"):
        ticking.checked()


BOOKED = sorted(path for path in (ROOT / "src").rglob("*.py") if "@BOOK.workflow" in path.read_text())


def test_there_are_modules_with_workflows() -> None:
    assert len(BOOKED) >= 4


@pytest.mark.parametrize("path", BOOKED, ids=lambda path: path.stem)
def test_a_module_with_workflows_is_complete_by_itself(path: Path) -> None:
    """Whoever imports one of them, and then runs an engine, must not miss the queue that another one declares."""
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    code = f"import {module}; from touchline.engine.workbook import BOOK; print(len(BOOK.checked().workflows))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, int(done.stdout or 0) > 0) == (0, True), done.stderr
