"""What stands in a YAML file, and on which line? Plain values with the line of each; nothing is checked here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from touchline.errors import ScriptError
from touchline.rehearsal.fields import Path as Place
from touchline.rehearsal.fields import Source


def read_source(path: Path) -> Source:
    """The values in a file. Raises `ScriptError` when it cannot be read or is not YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScriptError(f"{path}: the script is not UTF-8 text ({error.reason}).", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise ScriptError(
            f"{path}: the script cannot be read ({error.strerror}).", hint="Check the path and its rights."
        ) from None
    return source_of(text, file=str(path))


def source_of(text: str, *, file: str) -> Source:
    """The values in a text."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        loaded = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = str(error.problem or error.context or "it cannot be read").split("\n")[0]
        raise ScriptError(f"{file}:{line}: this is not YAML: {problem}.", hint="Mend the line.") from None
    except YAMLError as error:
        raise ScriptError(f"{file}:1: this is not YAML: {error}.", hint="Mend the file.") from None
    lines: dict[Place, int] = {(): 1}
    return Source(file=file, data=_plain(loaded, (), lines), lines=lines)


def _plain(value: Any, path: Place, lines: dict[Place, int]) -> Any:
    """The value without the library's own types, noting lines on the way."""
    if isinstance(value, dict):
        found = {}
        for key, each in value.items():
            name = str(key)
            place = (*path, name)
            if key in value.lc.data:  # type: ignore[attr-defined]
                lines[place] = value.lc.data[key][0] + 1  # type: ignore[attr-defined]
            found[name] = _plain(each, place, lines)
        return found
    if isinstance(value, list):
        for number in range(len(value)):
            if number in value.lc.data:  # type: ignore[attr-defined]
                lines[(*path, number)] = value.lc.data[number][0] + 1  # type: ignore[attr-defined]
        return [_plain(each, (*path, number), lines) for number, each in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return str(value)
