"""What did one check find, and what puts it right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The outcome of one check."""

    id: str
    result: Result
    found: str
    """What was seen, with the values."""
    fix: str = ""
    """The next thing to do; empty when there is nothing to do."""


def ok(id: str, found: str) -> Checked:
    return Checked(id=id, result="ok", found=found)


def warning(id: str, found: str, *, fix: str) -> Checked:
    return Checked(id=id, result="warning", found=found, fix=fix)


def problem(id: str, found: str, *, fix: str) -> Checked:
    return Checked(id=id, result="problem", found=found, fix=fix)
