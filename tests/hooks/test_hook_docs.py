"""The reference names every event, and the numbers are those of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.hooks import lessons, memory, quick
from touchline.hooks.agents_known import HOMES, TIMEOUT
from touchline.hooks.dialects import EVENTS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("agent", EVENTS)
def test_every_event_is_documented(agent: str) -> None:
    page = (DOCS / "reference" / "hooks.md").read_text()
    assert [event for event in EVENTS[agent] if f"`{event}`" not in page] == []
    assert HOMES[agent].title in page


def test_the_numbers_are_those_of_the_code() -> None:
    page = (DOCS / "reference" / "hooks.md").read_text()
    for words in (
        f"longer than {quick.SECONDS:.0f} seconds",
        f"agents wait {TIMEOUT} seconds",
        f"turned over at {memory.LOG_BYTES // 1_000} kB",
        f"cut at {memory.CALLS_BYTES // 1_000_000} MB",
        f"untouched for {memory.DAYS_KEPT} days",
        f"the last {quick.LOOK_BACK // 1_000_000} MB",
        f"{lessons.EACH:,} characters of each, {lessons.CHARS:,} of all",
    ):
        assert words in page
    assert TIMEOUT > quick.SECONDS


def test_every_settings_file_is_documented() -> None:
    page = (DOCS / "how-to" / "hooks.md").read_text()
    for home in HOMES.values():
        assert f"`{home.project}`" in page
        assert home.local is None or f"`{home.local}`" in page
