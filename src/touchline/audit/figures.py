"""How are numbers written for people? The same way on the page and in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

UNKNOWN = "–"
"""Stands where a number is not known or a share has nothing to be a share of."""


def share(value: float | None) -> str:
    """A share in per cent: whole numbers, but never 0 % or 100 % for what is not exactly that."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.01:
        return "<1 %"
    if 0.99 < value < 1:
        return ">99 %"
    return f"{value * 100:.0f} %"


def tokens(value: int) -> str:
    """Tokens, three digits at most: 950, 12.3k, 4.56M."""
    for limit, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if value >= limit:
            scaled = value / limit
            digits = 2 if scaled < 10 else 1 if scaled < 100 else 0
            return f"{scaled:.{digits}f}{unit}"
    return str(value)


def dollars(value: float | None, *, estimated: bool = False) -> str:
    if value is None:
        return UNKNOWN
    words = "<$0.01" if 0 < value < 0.01 else f"${value:,.2f}"
    return f"about {words}" if estimated else words


def size(value: int) -> str:
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if value >= limit:
            return f"{value / limit:.1f} {unit}"
    return f"{value} B"


def moment(value: datetime | None) -> str:
    return UNKNOWN if value is None else value.strftime("%Y-%m-%d %H:%M")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 loop`, `2 loops`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def plain(word: str) -> str:
    """A machine-readable reason in words: `unverified_edits` is `unverified edits`."""
    return word.replace("_", " ")


def short_ids(ids: Iterable[str], *, least: int = 8) -> dict[str, str]:
    """Each id cut to what tells it from the others; ids that hold a time often share a long begin."""
    whole = sorted(set(ids))
    short: dict[str, str] = {}
    for place, one in enumerate(whole):
        near = [whole[other] for other in (place - 1, place + 1) if 0 <= other < len(whole)]
        same = max((_shared(one, other) for other in near), default=0)
        short[one] = one[: max(least, same + 1)]
    return short


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
