"""What does an exit code of `touchline` mean? Stable, and documented in the reference."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    FOUND = 1
    """`--fail-on` found what it names."""
    USAGE = 2
    """Wrong input: the message says which value and what to do next."""
    NOTHING = 3
    """There was nothing to work on."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""
