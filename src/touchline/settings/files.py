"""What does a settings file say, and in which line? Reads TOML; every error names file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from touchline.errors import SettingsError
from touchline.settings.keys import require_key
from touchline.settings.sections import AGENTS, SECTIONS
from touchline.settings.values import fitted

MOST_BYTES = 256 * 1024
MOST_LINES = 2_000
"""In a longer file lines are not looked for."""
_AT_LINE = re.compile(r"\s*\(at line (\d+), column \d+\)")


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """A settings file as it is written."""

    path: Path
    text: str
    tables: Mapping[str, Any]

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of each setting."""
        return _lines(self.text)

    def at(self, name: str) -> str:
        """`file:line: ` of a setting, for the head of a message."""
        line = self.lines.get(name, 0)
        return f"{self.path}:{line}: " if line else f"{self.path}: "

    def values(self) -> dict[str, Any]:
        """Every setting of the file by its name, in its type. SettingsError for the first that does not fit."""
        found: dict[str, Any] = {}
        for name, value in leaves(self.tables):
            if value == {} and (name in SECTIONS or name.startswith(f"{AGENTS}.")):
                continue
            # Looking for the line takes time, so only when there is something to say about it.
            try:
                found[name] = fitted(require_key(name), value, at="")
            except SettingsError as error:
                raise SettingsError(f"{self.at(name)}{error.message}", hint=error.hint) from None
        return found


def read_file(path: Path) -> SettingsFile | None:
    """The file; None when there is none. SettingsError when it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise SettingsError(f"{path} is larger than {MOST_BYTES // 1024} kB.", hint="Is it a settings file?")
        text = raw.decode().removeprefix("\ufeff")
        return SettingsFile(path=path, text=text, tables=tomllib.loads(text))
    except FileNotFoundError:
        if path.is_symlink():
            raise SettingsError(
                f"{path} is a link to a file that is not there.", hint="Mend or remove the link."
            ) from None
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}:{line}: not UTF-8 ({error.reason}).", hint="Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        words = str(error)
        number = _AT_LINE.search(words)
        line = int(number[1]) if number else text.rstrip().count("\n") + 1
        raise SettingsError(
            f"{path}:{line}: {_AT_LINE.sub('', words)}.", hint="It must be TOML: [section] and key = value."
        ) from None
    except RecursionError:
        raise SettingsError(f"{path} is nested too deeply.", hint="Is it a settings file?") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}).", hint="Check what it is.") from None


def leaves(tables: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, Any]]:
    """Every value, and every empty table, with the path of its key."""
    for name, value in tables.items():
        path = f"{head}{name}"
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def _lines(text: str) -> dict[str, int]:
    """Where each key begins. The grammar is TOML's own: a key is there as soon as the lines up to it can be read."""
    lines = text.replace("\r\n", "\n").split("\n")
    found: dict[str, int] = {}
    begin = 1
    if len(lines) > MOST_LINES:
        return found
    for number in range(1, len(lines) + 1):
        try:
            tables = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
        for name, _ in leaves(tables):
            found.setdefault(name, begin)
        begin = number + 1
    return found
