"""Every exception Touchline raises on purpose.

    TouchlineError              what went wrong, with which value, and what to do next
    ├── InputError              something given by a person or another program does not fit
    │   ├── SituationError      a field of a situation (`touchline decide`) is wrong
    │   └── LogNotFound         a path names no readable session log
    ├── ReviewError             a review cannot be asked for or its answer not be used; the limit still holds
    └── DataFileError           a data file shipped with Touchline is broken

Readers of agents' output raise none of these: what they cannot read becomes a fact of the turn.
"""

from __future__ import annotations


class TouchlineError(Exception):
    """Something went wrong.

    `message` says what happened and with which value; `hint` is the next thing to do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InputError(TouchlineError):
    """Something given from outside does not fit."""


class SituationError(InputError):
    """A field of a situation is wrong; `field` is its path, such as `budget.turns`."""

    def __init__(self, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {message}", hint=hint)
        self.field = field


class LogNotFound(InputError):
    """A path names no readable session log."""


class ReviewError(TouchlineError):
    """A review request or a reviewer's answer cannot be used."""


class DataFileError(TouchlineError):
    """A data file shipped with Touchline cannot be used."""
