"""How much of a text is kept?

Long texts are cut in the middle so that memory stays bounded whatever an agent prints. What is cut leaves its
digest behind, so that two different values stay different.
"""

from __future__ import annotations

from touchline.digests import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

RESULT_HEAD, RESULT_TAIL = 2_000, 6_000
"""A result's end holds the counts and the error, so more of it is kept than of its start."""
WORDS_HEAD, WORDS_TAIL = 16_000, 16_000
"""Prompts and the agent's own words: long ones are plans, which are read from their start too."""
ARG_SIDE = 4_000
"""One text inside a call's arguments, such as the content of a written file."""
ARG_DEPTH = 24
"""Deeper arguments are kept as text: comparing calls must never recurse without end."""
ARG_ITEMS = 400
"""Entries of one list or object in the arguments."""
NOTE = 200
"""Characters kept of a line that could not be used."""


def cut(text: str, head: int, tail: int, mark: str = "") -> str:
    """The text, or its head and tail with a note between them of how much is missing."""
    if len(text) <= head + tail:
        return text
    missing = len(text) - head - tail
    return f"{text[:head]}\n[... {missing} characters cut{mark} ...]\n{text[-tail:]}"


def cut_words(text: str) -> str:
    """A prompt or a message of the agent, bounded."""
    return cut(text, WORDS_HEAD, WORDS_TAIL)


def bounded_args(value: Any, *, side: int = ARG_SIDE) -> Mapping[str, Any]:
    """A call's arguments, bounded in every direction, and different wherever the originals are.

    `side` is how many characters a long text keeps at its start and at its end.
    """
    if not isinstance(value, dict):
        return {} if value is None else {"input": _bounded(value, 1, side)}
    return _bounded_object(value, 0, side)


def _bounded(value: Any, depth: int, side: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= 2 * side else cut(value, side, side, f", digest {digest(value)}")
    if isinstance(value, dict):
        return _bounded_object(value, depth, side) if depth < ARG_DEPTH else _as_text(value)
    if isinstance(value, list):
        if depth >= ARG_DEPTH:
            return _as_text(value)
        kept = [_bounded(item, depth + 1, side) for item in value[:ARG_ITEMS]]
        if len(value) > ARG_ITEMS:
            kept.append(_as_text(value[ARG_ITEMS:]))
        return kept
    return value


def _bounded_object(value: dict[str, Any], depth: int, side: int) -> dict[str, Any]:
    if len(value) <= ARG_ITEMS:
        return {_key(key): _bounded(item, depth + 1, side) for key, item in value.items()}
    entries = list(value.items())
    kept = {_key(key): _bounded(item, depth + 1, side) for key, item in entries[:ARG_ITEMS]}
    kept["[cut]"] = _as_text(dict(entries[ARG_ITEMS:]))
    return kept


def _key(key: str) -> str:
    return key if len(key) <= NOTE else cut(key, NOTE // 2, NOTE // 2, f", digest {digest(key)}")


def _as_text(value: Any) -> str:
    import json

    try:
        written = json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "[nested too deeply]"
    return cut(written, NOTE, NOTE, f", digest {digest(written)}")
