"""Which words mark a claim, a hedge, a question ...? Loads `phrases.toml` and compiles a list when it is first used."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from touchline.errors import DataFileError
from touchline.supervision.prepared import shape, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

_FILE = "phrases.toml"
_ENDS = (
    r"\b(?=\W*$|\s*[^\w\s]|\s+(?:\d|(?:because|in|on|with|at|due|and|or|after|when|whenever|since|as|for|by|under|from"
    r"|during|but|still|now|again|locally|here|there|which|to|if|while|so|only|every|each|today|unless|until|without"
    r"|against|before|any|anymore|too|sometimes|is|are|remotely|\w+ly)\b))"
)


@cache
def _lists() -> dict[str, Any]:
    try:
        return table(_FILE)
    except (OSError, ValueError) as error:
        raise DataFileError(f"{_FILE} cannot be read: {error}.", hint="Reinstall Touchline.") from error


@cache
def pattern(name: str) -> re.Pattern[str]:
    """One pattern made of every alternative under `name` (`claims.fixed`), for lower-case text.

    In the file `{gap}` is some words of the same sentence, `{code}` a piece of inline code, and `{ends}` the place
    after a verb: no noun follows that the word before would belong to, as in "failing tests".
    """
    entry: Any = _lists()
    for key in name.split("."):
        if not isinstance(entry, dict) or key not in entry:
            raise DataFileError(f"{_FILE} has no list named {name}.", hint="Reinstall Touchline.")
        entry = entry[key]
    # Most alternatives begin at a word: one shared boundary lets the engine skip a branch by its first letter.
    bounded = [a[2:] for a in entry if a.startswith(r"\b")]
    others = [a for a in entry if not a.startswith(r"\b")]
    if bounded:
        others.append(r"\b(?=\w)(?:" + "|".join(f"(?:{a})" for a in bounded) + ")")
    alternatives = "|".join(f"(?:{a})" for a in others)
    alternatives = (
        alternatives.replace("{gap}", r"[^.!?:;\n]{0,60}?").replace("{code}", "\ue000{1,400}+").replace("{ends}", _ENDS)
    )
    try:
        return shape(alternatives)
    except Exception as error:  # `re.error`, from a module that is not loaded here
        raise DataFileError(f"{_FILE}: {name} is no valid pattern: {error}.", hint="Reinstall Touchline.") from error


def matches(name: str, text: str) -> Iterator[re.Match[str]]:
    """Every match of a list in a lower-case text; costs next to nothing where its needed words are absent."""
    needed = _lists()["needs"].get(name)
    if needed is not None and not any(word in text for word in needed):
        return iter(())
    return pattern(name).finditer(text)
