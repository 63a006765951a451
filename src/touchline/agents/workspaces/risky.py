"""Which parts of a change deserve a look before it is accepted? By file name (`risky.toml`), kind and content."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from touchline.agents.workspaces.changes import Changes, FileChange
from touchline.errors import DataFileError

LARGE_BYTES = 1024 * 1024
READ_BYTES = 2 * 1024 * 1024
"""Longer contents are not searched; they are marked as large anyway."""
_FILE = Path(__file__).with_name("risky.toml")
_HIDDEN = re.compile(
    "[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]|(?<!^)\ufeff|[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]|\x1b"
)
_RUNS_AT_INSTALL = ("preinstall", "install", "postinstall", "prepare", "prepublish", "preprepare", "postprepare")

Read = Callable[[str], bytes | None]
"""Gives a blob's content by its hash; None when it is too long or not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """A part of a change that is worth a look."""

    path: str
    kind: str
    """Such as `ci` or `link-outside`; stable, for programs."""
    why: str
    """For a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    kind: str
    why: str
    pattern: re.Pattern[str]
    when: str


def risky(changes: Changes, read: Read) -> tuple[Risk, ...]:
    """The marked parts, in the order of the files; a file may have several."""
    found: list[Risk] = []
    seen: dict[str, str] = {}
    for file in changes.files:
        old, new = _content(file.old_mode, file.old_blob, read), _content(file.new_mode, file.new_blob, read)
        for kind, why in (*_by_name(file, old, new), *_by_kind(file, new), *_by_content(file, old, new)):
            found.append(Risk(path=file.path, kind=kind, why=why))
        if file.status in ("added", "renamed"):
            other = seen.setdefault(file.path.casefold(), file.path)
            if other != file.path:
                found.append(Risk(path=file.path, kind="name", why=f"on some systems it is the same file as {other}"))
    found.extend(_repositories(changes))
    return tuple(dict.fromkeys(found))


def _repositories(changes: Changes) -> list[Risk]:
    """Folders that git takes for a repository of their own: its settings count for whoever goes there."""
    added = {file.path for file in changes.files if file.status in ("added", "renamed")}
    heads = {path.removesuffix("HEAD") for path in added if path.rpartition("/")[2] == "HEAD"}
    why = "git takes its folder for a repository, and obeys the settings in it"
    return [
        Risk(path=f"{folder}config", kind="repository", why=why)
        for folder in sorted(heads)
        if f"{folder}config" in added
    ]


def _content(mode: str, blob: str, read: Read) -> bytes:
    return b"" if mode in ("000000", "160000") else read(blob) or b""


def _by_name(file: FileChange, old: bytes, new: bytes) -> list[tuple[str, str]]:
    paths = {file.path, file.old_path}
    found: list[tuple[str, str]] = []
    for rule in _rules():
        if not any(rule.pattern.fullmatch(path.casefold()) for path in paths):
            continue
        extra = _asked(rule.when, old, new)
        if extra is not None:
            found.append((rule.kind, f"{rule.why}{extra}"))
    if any(ord(c) < 32 or c == "\x7f" for c in file.path) or _HIDDEN.search(file.path):
        found.append(("name", "its name holds characters that cannot be seen"))
    if file.path.startswith("-") or "/-" in file.path:
        found.append(("name", "programs may take its name for an option"))
    return found


def _asked(when: str, old: bytes, new: bytes) -> str | None:
    """What a rule adds to its words when its condition holds; None when it does not."""
    match when:
        case "":
            return ""
        case "scripts":
            names = _differing(_json(old).get("scripts"), _json(new).get("scripts"))
            at_install = [name for name in names if name in _RUNS_AT_INSTALL]
            loud = f", {', '.join(at_install)} already when it is installed" if at_install else ""
            return f": {', '.join(names)}{loud}" if names else None
        case "build-parts":
            before, after = (_build_parts(_toml(content)) for content in (old, new))
            names = _differing(before, after)
            return f": {', '.join(names)}" if names else None
        case _:
            raise DataFileError(f"{_FILE.name}: no condition is named {when!r}.", hint="Reinstall Touchline.")


def _by_kind(file: FileChange, new: bytes) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if file.new_mode == "120000":
        target = new.decode("utf-8", "replace")
        reached = normpath(join(dirname(file.path), target))
        if target.startswith("/") or reached == ".." or reached.startswith("../"):
            found.append(("link-outside", f"it is a link that leads out of the project: {target}"))
        elif reached == ".git" or reached.startswith(".git/"):
            found.append(("link-outside", f"it is a link into git's own folder: {target}"))
        else:
            found.append(("link", f"it is a link: {target}"))
    if "160000" in (file.new_mode, file.old_mode):
        found.append(("submodule", "it changes which commit of another repository belongs here"))
    if file.new_mode == "100755" and file.old_mode != "100755":
        found.append(("executable", "it may now be run as a program"))
    return found


def _by_content(file: FileChange, old: bytes, new: bytes) -> list[tuple[str, str]]:
    if file.new_mode in ("000000", "160000", "120000"):
        return []
    found: list[tuple[str, str]] = []
    if file.binary:
        found.append(("binary", "it is not text, so that no difference can be shown"))
    elif file.insertions and not new:
        found.append(("large", f"it is larger than {READ_BYTES} bytes and was not searched"))
    elif count := _hidden_lines(old, new):
        found.append(("hidden-characters", f"characters that cannot be seen or turn the text, in added lines: {count}"))
    if len(new) > LARGE_BYTES and len(new) > 2 * len(old):
        found.append(("large", f"it has {len(new)} bytes"))
    return found


def _hidden_lines(old: bytes, new: bytes) -> int:
    before = set(old.split(b"\n"))
    added = (line for line in new.split(b"\n") if line not in before)
    return sum(_HIDDEN.search(line.decode("utf-8", "replace")) is not None for line in added)


def _build_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a pyproject.toml that name code to be run."""
    tool, project = value.get("tool", {}), value.get("project", {})
    found = {"build-system": value.get("build-system")}
    if isinstance(tool, dict):
        found |= {f"tool.{name}": tool.get(name) for name in ("hatch", "setuptools", "poe", "pdm", "poetry", "tox")}
        pytest = tool.get("pytest", {})
        found["tool.pytest"] = pytest.get("ini_options") if isinstance(pytest, dict) else None
    if isinstance(project, dict):
        names = ("dependencies", "optional-dependencies", "scripts", "gui-scripts", "entry-points")
        found |= {f"project.{name}": project.get(name) for name in names}
    return {name: part for name, part in found.items() if part is not None}


def _differing(old: Any, new: Any) -> list[str]:
    before, after = (each if isinstance(each, dict) else {} for each in (old, new))
    return sorted(str(name) for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        # Not readable for us, but perhaps for them: what it says counts as new.
        return {"scripts": {"(unreadable)": content.hex()}} if content else {}
    return value if isinstance(value, dict) else {}


def _toml(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return {"build-system": content.hex()}


@cache
def _rules() -> tuple[_Rule, ...]:
    try:
        listed = tomllib.loads(_FILE.read_text(encoding="utf-8"))["rule"]
        return tuple(
            _Rule(
                kind=rule["kind"],
                why=rule["why"],
                pattern=re.compile("|".join(map(_translated, rule["paths"]))),
                when=rule.get("when", ""),
            )
            for rule in listed
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataFileError(f"{_FILE.name} cannot be read: {error}.", hint="Reinstall Touchline.") from error


def _translated(pattern: str) -> str:
    words = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|/\*\*|\*)", pattern)
    text = "".join(words.get(part) or re.escape(part) for part in parts)
    return text if "/" in pattern else f"(?:.*/)?{text}"
