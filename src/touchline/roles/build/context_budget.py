"""What goes into a prompt when not everything fits? The most worthy first; what is dear is cut, the rest is left out.

Pure. Texts come in with their worth; nothing is included twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WORTH = {
    "task": 1.0,
    "gotchas": 0.95,
    "template": 0.90,
    "contract": 0.87,
    "conventions": 0.85,
    "recent_messages": 0.80,
    "readme": 0.70,
    "older_messages": 0.50,
    "research": 0.30,
}
"""How much each kind of text is worth; see the reference."""
CUT_FROM = 0.80
"""From this worth on a text that does not fit is cut to fit; below it is left out."""
CUT_MARK = "\n[... cut to fit ...]"
_LEAST = 16
"""Tokens below which a cut text says nothing any more."""
_PIECES = re.compile(r"[A-Za-z]+|\d{1,3}|[^\W\dA-Za-z]+|[^\w\s]+|_+|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A text that would be good to have in the prompt."""

    name: str
    """A key of `WORTH`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """A text that made it."""

    name: str
    text: str
    tokens: int
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What fits into the budget."""

    included: tuple[Included, ...]
    left_out: tuple[str, ...]
    tokens: int


def estimate_tokens(text: str) -> int:
    """How many tokens a text will be, by its pieces, without a tokenizer at hand.

    Held against the byte-pair vocabulary `o200k_base` on prose, code, data and other scripts: 0.9 to 1.4 of the real
    count. Rather too high, because other vendors' vocabularies make some more of the same text.
    """
    total = 0.0
    for piece in _PIECES.findall(text):
        first, length = piece[0], len(piece)
        if first.isspace():
            total += 0.02 if length == 1 and first != "\n" else 0.6
        elif first.isascii() and first.isalpha():
            total += 1 if length <= 7 else 1 + (length - 7) / 6
        elif first.isdigit():
            total += 1
        elif first.isalpha():
            total += 0.75 * length if first > "\u2e7f" else 0.4 + 0.5 * length
        else:
            total += 0.4 + 0.4 * length
    return int(total * 1.1) + 1 if text else 0


def fit(items: Sequence[Item], budget: int) -> Fitted:
    """Choose and cut so that the whole costs at most `budget` tokens."""
    included: list[Included] = []
    left_out: list[str] = []
    seen: set[str] = set()
    used = 0
    for item in sorted(items, key=lambda i: -WORTH[i.name]):
        text = item.text.strip()
        if not text or text in seen:
            continue
        seen.add(text)
        cost = estimate_tokens(text)
        room = budget - used
        if cost <= room:
            included.append(Included(name=item.name, text=text, tokens=cost))
        elif WORTH[item.name] >= CUT_FROM and (short := cut_to(text, room)):
            cost = estimate_tokens(short)
            included.append(Included(name=item.name, text=short, tokens=cost, cut=True))
        else:
            left_out.append(item.name)
            continue
        used += cost
    return Fitted(included=tuple(included), left_out=tuple(left_out), tokens=used)


def cut_to(text: str, budget: int) -> str:
    """The beginning of a text within the budget, to the end of a line where one is near; empty when too little fits."""
    if budget < _LEAST:
        return ""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle] + CUT_MARK) <= budget:
            low = middle
        else:
            high = middle - 1
    kept = text[:low]
    line_end = kept.rfind("\n")
    kept = kept[:line_end] if line_end > low // 2 else kept
    return kept.rstrip() + CUT_MARK if kept.strip() else ""
