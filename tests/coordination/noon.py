"""A clock that the tests of coordination turn by hand: seconds after noon of one day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NOON = datetime(2031, 5, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after noon."""
    return NOON + timedelta(seconds=seconds)
