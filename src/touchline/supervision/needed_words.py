"""Which words must a text hold for a pattern to match at all? Worked out of the pattern itself, when it is compiled.

To look for a word takes next to nothing, to make a pattern of two thousand steps ready for use takes as long as all
look-ups of a message; so a list of phrases is only made ready where one of its words stands.
"""

from __future__ import annotations

from re import _constants as codes  # type: ignore[attr-defined]
from typing import Any

_LONG_ENOUGH = 4
"""From here on few words are worth more than long ones."""


def needed_words(tree: Any) -> tuple[str, ...]:
    """Of a parsed pattern: every match holds at least one of these. None at all means that nothing is known."""
    if tree.state.flags & codes.SRE_FLAG_IGNORECASE:
        return ()
    return tuple(sorted(_needed(tree)))


def _needed(tree: Any) -> frozenset[str]:
    """One part of a sequence is enough; the one that fits the fewest texts is taken."""
    found: list[frozenset[str]] = []
    written = ""
    for what, of in tree:
        if what is codes.LITERAL:
            written += chr(of)
            continue
        if written:
            found.append(frozenset({written}))
            written = ""
        found.append(_of_part(what, of))
    if written:
        found.append(frozenset({written}))
    return max(filter(None, found), key=_worth, default=frozenset())


def _of_part(what: Any, of: Any) -> frozenset[str]:
    if what is codes.BRANCH:
        parts = [_needed(each) for each in of[1]]
        return frozenset().union(*parts) if all(parts) else frozenset()
    if what is codes.SUBPATTERN:
        _, on, _, inner = of
        return frozenset() if on & codes.SRE_FLAG_IGNORECASE else _needed(inner)
    if what in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return _needed(of[2]) if of[0] > 0 else frozenset()
    if what is codes.ATOMIC_GROUP:
        return _needed(of)
    # Sets, places, look-arounds, back references: nothing that is certain to stand in the text, or not worth it.
    return frozenset()


def _worth(words: frozenset[str]) -> tuple[int, int, int]:
    shortest = min(map(len, words))
    return min(shortest, _LONG_ENOUGH), -len(words), shortest
