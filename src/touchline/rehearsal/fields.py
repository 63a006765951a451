"""Is a field of the script there, and of the right kind? Errors begin with `file:line:` and name the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from touchline.errors import ScriptError

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A script as it was read, before anything is made of it."""

    file: str
    data: Any
    lines: Mapping[Path, int]
    """The line of each entry, by its path; empty when only the data is known."""

    def line(self, path: Path) -> int:
        """The entry's line, or that of the nearest one around it; 0 when no line is known."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0


class Fields:
    """The entries of one mapping in the script."""

    def __init__(
        self, source: Source, path: Path, data: Any, allowed: tuple[str, ...] | None = None, *, what: str = ""
    ) -> None:
        self.source = source
        self.path = path
        self.data = data
        if allowed is None:
            return
        if not isinstance(data, dict):
            raise self.error(f"{_shown(data)} is not {what}", f"Give a mapping; allowed: {', '.join(allowed)}.")
        for name in data:
            if name not in allowed:
                raise self.at(name).error(f"{what} has no such field", f"Allowed: {', '.join(allowed)}.")

    def __contains__(self, name: str) -> bool:
        return self.data.get(name) is not None

    @property
    def line(self) -> int:
        return self.source.line(self.path)

    def at(self, *names: str | int) -> Fields:
        """A place inside, for naming it in an error."""
        return Fields(self.source, (*self.path, *names), None)

    def error(self, problem: str, hint: str) -> ScriptError:
        where = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in self.path).lstrip(".")
        return ScriptError(f"{self.source.file}:{self.line}: {where or 'the script'}: {problem}.", hint=hint)

    def get(self, name: str, default: Any = None) -> Any:
        value = self.data.get(name)
        return default if value is None else value

    def text(self, name: str) -> str:
        """Words; numbers are taken as they are written."""
        value = self.get(name, "")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.at(name).error(f"{_shown(value)} is not a text", "Write it as a text, in quotes if need be.")
        return str(value)

    def truth(self, name: str) -> bool:
        value = self.get(name, False)
        if not isinstance(value, bool):
            raise self.at(name).error(f"{_shown(value)} does not fit", "Allowed: true, false.")
        return value

    def seconds(self, name: str) -> float | None:
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 86_400:
            raise self.at(name).error(f"{_shown(value)} does not fit", "Allowed: seconds from 0 to 86400.")
        return float(value)

    def count(self, name: str, default: int) -> int:
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.at(name).error(f"{_shown(value)} does not fit", "Allowed: a whole number from 0.")
        return value

    def mapping(self, name: str, allowed: tuple[str, ...], *, what: str) -> Fields | None:
        value = self.get(name)
        return None if value is None else Fields(self.source, (*self.path, name), value, allowed, what=what)

    def mappings(self, name: str, allowed: tuple[str, ...], *, what: str, empty: bool = True) -> list[Fields]:
        """A list of mappings."""
        value = self.get(name, [])
        if not isinstance(value, list) or not (value or empty):
            raise self.at(name).error(f"{_shown(value)} does not fit", f"Give a list, each entry {what}.")
        return [
            Fields(self.source, (*self.path, name, number), each, allowed, what=what)
            for number, each in enumerate(value)
        ]

    def entries(self, name: str) -> Iterator[tuple[str, Fields]]:
        """The entries of a mapping whose names are the user's own."""
        value = self.get(name, {})
        if not isinstance(value, dict):
            raise self.at(name).error(f"{_shown(value)} does not fit", "Give a mapping of names to patterns.")
        for key, each in value.items():
            yield str(key), Fields(self.source, (*self.path, name, key), each)


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 60 else f"{words[:57]}..."
