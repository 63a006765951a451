"""How thoroughly is a change validated? Five levels, what each of them looks for, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

CheckKind = Literal["syntax", "types", "lint", "unit", "build", "integration", "performance", "security"]
KINDS: tuple[CheckKind, ...] = get_args(CheckKind)
"""In the order in which they run: what is cheap and tells most first."""


class Level(StrEnum):
    """How thorough."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"
    COMPREHENSIVE = "comprehensive"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a level looks for."""

    kinds: tuple[CheckKind, ...]
    seconds: float
    """For all its checks together."""


_QUICK: tuple[CheckKind, ...] = ("syntax", "types", "lint")
SCOPES: Mapping[Level, Scope] = {
    Level.QUICK: Scope(kinds=_QUICK, seconds=30),
    Level.STANDARD: Scope(kinds=(*_QUICK, "unit"), seconds=2 * 60),
    Level.THOROUGH: Scope(kinds=(*_QUICK, "unit", "build", "integration"), seconds=10 * 60),
    Level.COMPREHENSIVE: Scope(kinds=KINDS, seconds=30 * 60),
    Level.RELEASE: Scope(kinds=KINDS, seconds=2 * 60 * 60),
}
