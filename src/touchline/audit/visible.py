"""How is text from a log shown so that it cannot act?

Control characters move cursors and colour terminals; bidirectional overrides make a line read as another one.
Both are replaced by signs a person can see. Markup is escaped elsewhere, by whoever writes markup.
"""

from __future__ import annotations

import re
from functools import cache

_KEPT = "\n\t"
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNSEEN = "\u00ad\u200b\u2028\u2029\u2060\ufeff"


@cache
def _acting() -> re.Pattern[str]:
    control = "".join(chr(c) for c in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(c) not in _KEPT)
    return re.compile("[" + re.escape(control) + _BIDI + _UNSEEN + "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]")


@cache
def _breaks() -> re.Pattern[str]:
    return re.compile(r"\n|[.!?](?=\s)")


def visible(text: str) -> str:
    """The text with every acting character shown as a sign: ␛ for escape, ⟨U+202E⟩ for an override."""
    return _acting().sub(_sign, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 120) -> str:
    """The text on one line, cut at `limit` characters with an ellipsis."""
    return cut(" ".join(visible(text[: limit * 8]).split()), limit)


def sentence_around(text: str, start: int, end: int) -> str:
    """The sentence or line that a piece of the text stands in, so that a quote can be understood."""
    begin = max((found.end() for found in _breaks().finditer(text, 0, start)), default=0)
    stop = _breaks().search(text, end)
    return " ".join(text[begin : stop.start() + 1 if stop else len(text)].split())


def cut(text: str, limit: int) -> str:
    """The text, at most `limit` characters long, with an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return f"⟨U+{code:04X}⟩"
