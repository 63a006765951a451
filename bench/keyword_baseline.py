"""The baseline for the kind of stop: keywords over the whole text, first family with a hit wins.

What a supervisor has before it looks at actions, negation or where in the text a word stands. A text without a hit
is shown to the person as a question, and every completion is believed. Kept for comparison only.
"""

from __future__ import annotations

import re

FAMILIES = {
    "question": r"\b(?:should|shall|may) (?:i|we)\b|\bwould you\b|\bdo you\b|\bplease (?:confirm|decide)\b|\bapprov",
    "error": r"\berror\b|\bexception\b|\btraceback\b|\bcrash",
    "blocker": r"\bblocked\b|\bpermission\b|\bno access\b|\bcannot (?:go on|continue|proceed)\b",
    "completion": r"\bdone\b|\bcomplete[d]?\b|\bfinished\b|\bpushed\b|\bmerged\b|/pull/\d",
}
_COMPILED = {kind: re.compile(words, re.IGNORECASE) for kind, words in FAMILIES.items()}


def keyword_kind(text: str) -> str:
    """The kind of stop by keywords alone."""
    if not text.strip():
        return "status"
    return next((kind for kind, words in _COMPILED.items() if words.search(text)), "question")
