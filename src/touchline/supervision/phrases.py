"""Which words mark a claim, a hedge, a question ...? Loads `phrases.toml` and compiles a list when it is first used."""

from __future__ import annotations

from touchline.supervision.data_files import unusable
from touchline.supervision.prepared import needed_in, shape, table
from touchline.supervision.remembering import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from typing import Any

_FILE = "phrases.toml"
END = 2**31 - 1
"""Beyond any text that is looked at."""
_ENDS = (
    r"\b(?=\W*$|\s*[^\w\s]|\s+(?:\d|(?:because|in|on|with|at|due|and|or|after|when|whenever|since|as|for|by|under|from"
    r"|during|but|still|now|again|locally|here|there|which|to|if|while|so|only|every|each|today|unless|until|without"
    r"|against|before|any|anymore|too|sometimes|is|are|remotely|\w+ly)\b))"
)


@cache
def _lists() -> dict[str, Any]:
    try:
        told: dict[str, Any] = table(_FILE, _put_together)
        return told
    except (OSError, ValueError) as error:
        raise unusable(f"{_FILE} cannot be read: {error}") from error


def _put_together(told: dict[str, Any]) -> dict[str, Any]:
    """Each list as one pattern, by its name (`claims.fixed`); beside them `needs`, as it is."""
    made: dict[str, Any] = {"needs": told.pop("needs", {})}
    for section, lists in told.items():
        for name, alternatives in lists.items():
            made[f"{section}.{name}"] = _one(alternatives)
    return made


def _one(alternatives: list[str]) -> str:
    # Most alternatives begin at a word: one shared boundary lets the engine skip a branch by its first letter.
    bounded = [a[2:] for a in alternatives if a.startswith(r"\b")]
    others = [a for a in alternatives if not a.startswith(r"\b")]
    if bounded:
        others.append(r"\b(?=\w)(?:" + "|".join(f"(?:{a})" for a in bounded) + ")")
    whole = "|".join(f"(?:{a})" for a in others)
    return whole.replace("{gap}", r"[^.!?:;\n]{0,60}?").replace("{code}", "\ue000{1,400}+").replace("{ends}", _ENDS)


class Phrases:
    """One list, as one pattern; it is only made ready for a text that holds a word which every match needs."""

    __slots__ = ("_name", "_needed", "_pattern", "_shape")

    def __init__(self, name: str, pattern: str) -> None:
        self._name, self._pattern = name, pattern
        self._needed = needed_in(pattern)
        self._shape: re.Pattern[str] | None = None

    def search(self, text: str, start: int = 0, end: int = END) -> re.Match[str] | None:
        return self._ready().search(text, start, end) if self._may_match(text) else None

    def match(self, text: str, start: int = 0, end: int = END) -> re.Match[str] | None:
        return self._ready().match(text, start, end) if self._may_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._ready().finditer(text) if self._may_match(text) else iter(())

    def _may_match(self, text: str) -> bool:
        if not self._needed:
            return True
        for word in self._needed:  # noqa: SIM110 - `any` takes three times as long
            if word in text:
                return True
        return False

    def _ready(self) -> re.Pattern[str]:
        if self._shape is None:
            try:
                self._shape = shape(self._pattern)
            except Exception as error:  # `re.error`, from a module that is not loaded here
                raise unusable(f"{_FILE}: {self._name} is no valid pattern: {error}") from error
        return self._shape


@cache
def pattern(name: str) -> Phrases:
    """One pattern made of every alternative under `name` (`claims.fixed`), for lower-case text.

    In the file `{gap}` is some words of the same sentence, `{code}` a piece of inline code, and `{ends}` the place
    after a verb: no noun follows that the word before would belong to, as in "failing tests".
    """
    whole = _lists().get(name)
    if not isinstance(whole, str):
        raise unusable(f"{_FILE} has no list named {name}")
    return Phrases(name, whole)


def matches(name: str, text: str) -> Iterator[re.Match[str]]:
    """Every match of a list in a lower-case text; costs next to nothing where its needed words are absent."""
    needed = _lists()["needs"].get(name)
    if needed is not None and not any(word in text for word in needed):
        return iter(())
    return pattern(name).finditer(text)
