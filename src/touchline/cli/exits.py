"""What does an exit code of `touchline` mean? Stable, and documented in the reference."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    FOUND = 1
    """Something is wrong: `--fail-on`, `db check` or `doctor` found it, a worker lost its work to others, or
    `apply` could not or should not apply; or a session's result was not accepted."""
    USAGE = 2
    """Wrong input, or the machine stands in the way: the message says which value or path, and what to do next."""
    NOTHING = 3
    """There was nothing to work on."""
    WAITING = 5
    """A session waits for a person's answer."""
    UNEXPECTED = 70
    """A fault of Touchline itself; the message asks for a report."""
    OUTPUT = 74
    """The output could not be written: the disk is full, or the device is broken."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""
    PIPE_CLOSED = 141
    """Whoever read the output stopped reading, as `head` does."""
    TERMINATED = 143
    """Ended by SIGTERM."""
