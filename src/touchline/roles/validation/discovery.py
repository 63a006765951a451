"""Which checks does a repository have? Found from its own files; nothing is assumed about its language.

What a person declared wins over what was found, and a script of the repository over a tool called directly.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from touchline.roles.validation.levels import KINDS, CheckKind

SEEN_FILES = 5_000
"""Files looked at to tell the languages: enough for the shape of a large repository."""
_PASSED_BY = frozenset(
    {".git", "node_modules", ".venv", "venv", "dist", "build", "target", "__pycache__", ".tox", "vendor"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A command of the repository, and where it was found."""

    kind: CheckKind
    command: str
    found_in: str
    """The file that shows it, or `given` when a person declared it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebase:
    """A repository at a glance."""

    languages: Mapping[str, int]
    """Files per language, most first."""
    layout: tuple[str, ...]
    """The folders and files at the top."""
    checks: tuple[Check, ...]
    conventions: tuple[str, ...]
    """Documents with the repository's own rules for agents."""
    files: int
    """How many were looked at."""

    def command(self, kind: CheckKind) -> str:
        return next((check.command for check in self.checks if check.kind == kind), "")


def look_at(root: Path, *, given: Mapping[str, str] | None = None) -> Codebase:
    """What a repository is made of and which checks it has. Reads files, runs nothing."""
    counted: dict[str, int] = {}
    number = 0
    for path in _files(root):
        number += 1
        language = _data()["languages"].get(path.suffix.lower())
        if language:
            counted[language] = counted.get(language, 0) + 1
    languages = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
    top = (
        sorted(p.name + ("/" if p.is_dir() else "") for p in root.iterdir() if p.name != ".git")
        if root.is_dir()
        else []
    )
    names = tuple(name for name in _data()["conventions"] if (root / name).is_file())
    return Codebase(
        languages=languages,
        layout=tuple(top),
        checks=find_checks(root, given=given, languages=languages),
        conventions=names,
        files=number,
    )


def find_checks(
    root: Path, *, given: Mapping[str, str] | None = None, languages: Mapping[str, int] | None = None
) -> tuple[Check, ...]:
    """One command per kind of check, as far as there is one."""
    found: dict[CheckKind, Check] = {}
    sources = (_given(given or {}), _package_scripts(root), _make_targets(root), _tools(root, languages or {}))
    for source in sources:
        for check in source:
            found.setdefault(check.kind, check)
    return tuple(found[kind] for kind in KINDS if kind in found)


def _given(given: Mapping[str, str]) -> Iterator[Check]:
    for kind in KINDS:
        if command := given.get(kind, "").strip():
            yield Check(kind=kind, command=command, found_in="given")


def _package_scripts(root: Path) -> Iterator[Check]:
    try:
        scripts = json.loads((root / "package.json").read_text(encoding="utf-8"))["scripts"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not isinstance(scripts, dict):
        return
    for kind, names in _data()["scripts"].items():
        for name in names:
            body = scripts.get(name)
            # What `npm init` writes is no test.
            if isinstance(body, str) and body.strip() and "no test specified" not in body:
                yield Check(kind=kind, command=f"npm run --silent {name}", found_in="package.json")
                break


def _make_targets(root: Path) -> Iterator[Check]:
    for file in ("Makefile", "makefile", "GNUmakefile"):
        try:
            text = (root / file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        targets = set(re.findall(r"^([A-Za-z][\w-]*)\s*:(?!=)", text, re.MULTILINE))
        for kind, names in _data()["targets"].items():
            for name in names:
                if name in targets:
                    yield Check(kind=kind, command=f"make {name}", found_in=file)
                    break
        return


def _tools(root: Path, languages: Mapping[str, int]) -> Iterator[Check]:
    for rule in _data()["tools"]:
        if rule.get("language") and not languages.get(rule["language"]):
            continue
        for sign in rule["signs"]:
            file, _, section = sign.partition("#")
            if next(root.glob(file), None) is None:
                continue
            if section and not _has_section(root / file, section):
                continue
            yield Check(kind=rule["kind"], command=rule["command"], found_in=file)
            break


def _has_section(path: Path, section: str) -> bool:
    """Whether a TOML or INI file has a table of that dotted name, or a JSON file such a key."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".toml":
            value: Any = tomllib.loads(text)
        elif path.suffix == ".json":
            value = json.loads(text)
        else:
            return re.search(rf"^\[{re.escape(section)}\]", text, re.MULTILINE) is not None
    except (OSError, ValueError):
        return False
    for part in section.split("."):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def _files(root: Path) -> Iterator[Path]:
    seen, folders = 0, [root]
    while folders:
        try:
            entries = sorted(folders.pop().iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if entry.name not in _PASSED_BY:
                    folders.append(entry)
            else:
                seen += 1
                if seen > SEEN_FILES:
                    return
                yield entry


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("discovery.toml").read_text(encoding="utf-8"))
