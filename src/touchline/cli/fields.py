"""Is this JSON object what we asked for? Takes fields out one by one; what does not fit names its path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from touchline.errors import SituationError
from touchline.supervision.words import Word

E = TypeVar("E", bound=Word)
_MISSING = object()


class Fields:
    """One object of the input. Every getter removes its field; `done` complains about what is left."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.path = path
        if not isinstance(value, dict):
            raise SituationError(path or "$", f"is {_kind(value)}, but must be an object.")
        self.given = frozenset(value)
        self._left: dict[str, Any] = dict(value)
        self._known: list[str] = []

    def text(self, name: str, default: str | None = None) -> str:
        return str(self._take(name, str, "text", default))

    def optional_text(self, name: str) -> str | None:
        value = self._take(name, (str, type(None)), "text or null", "\0")
        return None if value == "\0" else value

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self._take(name, bool, "true or false", default))

    def count(self, name: str, default: int = 0) -> int:
        value = self._take(name, int, "a whole number", default)
        if value < 0:
            raise SituationError(self.at(name), f"is {value}, but must not be negative.")
        return int(value)

    def optional_whole(self, name: str) -> int | None:
        return self._take_optional(name, int, "a whole number")  # type: ignore[no-any-return]

    def optional_number(self, name: str, default: float | None = None) -> float | None:
        value = self._take_optional(name, (int, float), "a number", default)
        if value is not None and not math.isfinite(value):
            raise SituationError(self.at(name), f"is {value}, but must be a number.")
        return None if value is None else float(value)

    def choice(self, name: str, kind: type[E], default: E) -> E:
        value = self.text(name, str(default.value))
        try:
            return kind(value)
        except ValueError:
            raise SituationError(self.at(name), f"is {value!r}; {_nearest(value, [m.value for m in kind])}") from None

    def one_of(self, name: str, allowed: Iterable[str], default: str) -> str:
        value, allowed = self.text(name, default), list(allowed)
        if value not in allowed:
            raise SituationError(self.at(name), f"is {value!r}; {_nearest(value, allowed)}")
        return value

    def inner(self, name: str) -> Fields | None:
        value = self._take_optional(name, dict, "an object")
        return None if value is None else Fields(value, self.at(name))

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self._take_optional(name, dict, "an object")
        return {} if value is None else value

    def items(self, name: str) -> list[tuple[str, Any]]:
        """The elements of a list, each with its path; an absent list is empty."""
        value = self._take_optional(name, list, "a list")
        return [(f"{self.at(name)}[{n}]", each) for n, each in enumerate(value or ())]

    def texts(self, name: str) -> tuple[str, ...]:
        found: list[str] = []
        for path, value in self.items(name):
            if not isinstance(value, str):
                raise SituationError(path, f"is {_kind(value)}, but must be text.")
            found.append(value)
        return tuple(found)

    def done(self) -> None:
        for name in self._left:
            raise SituationError(self.at(name), f"is not known here; {_nearest(name, self._known)}")

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _take_optional(self, name: str, kind: type | tuple[type, ...], words: str, default: Any = None) -> Any:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return self._take(name, (*kinds, type(None)), f"{words} or null", default)

    def _take(self, name: str, kind: type | tuple[type, ...], words: str, default: Any) -> Any:
        self._known.append(name)
        value = self._left.pop(name, _MISSING)
        if value is _MISSING:
            if default is None and type(None) not in (kind if isinstance(kind, tuple) else (kind,)):
                raise SituationError(self.at(name), f"is missing; it must be {words}.")
            return default
        kinds = kind if isinstance(kind, tuple) else (kind,)
        # JSON's true is a Python int; a count of `true` is a mistake all the same.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise SituationError(self.at(name), f"is {_kind(value)}, but must be {words}.")
        return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    shown = names.get(type(value), "a number")
    return shown if isinstance(value, dict | list) or value is None else f"{shown} ({value!r:.40})"


def _nearest(value: str, known: Iterable[str]) -> str:
    known = list(known)
    import difflib

    close = difflib.get_close_matches(value, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known are {', '.join(sorted(known))}."
