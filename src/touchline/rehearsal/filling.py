"""Which value stands for `${name}`? Fills a turn's words; capitals, as in `${HOME}`, are left for the shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from touchline.rehearsal.turns import Finding, Told

BUILT_IN = frozenset({"workspace", "prompt", "heard", "saw", "run", "number"})
"""Values that are always there."""
_NAME = re.compile(r"(\$?)\$\{([a-z][a-z0-9_]*)\}")


class Missing(Exception):
    """A value that the script asks for was not found; the text says which."""


def names_in(value: Any) -> set[str]:
    """The names of all values that are asked for."""
    found: set[str] = set()

    def note(escaped: str, name: str) -> str:
        if not escaped:
            found.add(name)
        return ""

    _each_text(value, lambda words: _NAME.sub(lambda match: note(match[1], match[2]), words))
    return found


def fill(value: Any, values: Callable[[str], str]) -> Any:
    """The same value with `${name}` replaced in each of its texts."""

    def replaced(match: re.Match[str]) -> str:
        return match[0][1:] if match[1] else values(match[2])

    return _each_text(value, lambda words: _NAME.sub(replaced, words))


def values_of(
    told: Sequence[Told], find: Mapping[str, Finding], given: Mapping[str, str], *, number: int
) -> Callable[[str], str]:
    """How a name gets its value. What the user said last is searched first: a later prompt may bring a new value."""

    def value(name: str) -> str:
        if name in given:
            return given[name]
        if name == "prompt":
            return told[0].words
        if name == "heard":
            return told[-1].words
        if name == "saw":
            return told[-1].results
        if name == "number":
            return str(number)
        finding = find.get(name)
        if finding is None:
            raise Missing(f"${{{name}}} has no value here")
        for each in reversed(told):
            for last in list(re.finditer(finding.pattern, each.words))[-1:]:
                return str((last[1] if last.re.groups else last[0]) or "")
        if finding.otherwise is not None:
            return finding.otherwise
        raise Missing(f"${{{name}}} was not found: nothing that the user said fits {finding.pattern!r}")

    return value


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(key)): _each_text(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(each, change) for each in value]
    return value
