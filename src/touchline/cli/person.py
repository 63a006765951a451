"""Who sits here? The name that goes with an approval or an answer, for the record."""

from __future__ import annotations

from getpass import getuser


def person() -> str:
    """The user's name; a plain word where the system knows none."""
    try:
        return getuser()[:80]
    except (KeyError, OSError):
        return "person"
