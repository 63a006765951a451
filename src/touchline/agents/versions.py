"""Is this version of a CLI known to misbehave? And how is a version asked for? What is known is in `versions.toml`."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from touchline.errors import DataFileError

_DATA = Path(__file__).with_name("versions.toml")
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_CONDITION = re.compile(r"(<=|>=|==|<|>)\s*(\d+(?:\.\d+)*)")
_told: dict[tuple[str, int, int, int], str] = {}
"""Versions that were told, by the program's file as it was then."""
ASK_SECONDS = 20.0
"""A cold start of the slowest CLI on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misbehaviour:
    """Something that is known of some versions of a CLI."""

    cli: str
    versions: str
    """Conditions joined by commas, such as `>=2.0, <2.1.300`; `*` for all that are known."""
    wrong: str
    """What happens, in one sentence."""
    todo: str
    """What to do, in one sentence; empty when Touchline works around it."""

    @property
    def warns(self) -> bool:
        """A person has something to do about it."""
        return bool(self.todo)

    def concerns(self, version: str) -> bool:
        if self.versions == "*":
            return True
        told = _number(version)
        return bool(told) and all(_holds(told, sign, _number(than)) for sign, than in _CONDITION.findall(self.versions))


@cache
def known() -> tuple[Misbehaviour, ...]:
    """All that is known, in the file's order."""
    try:
        data: dict[str, Any] = tomllib.loads(_DATA.read_text("utf-8"))
        found = tuple(
            Misbehaviour(cli=cli, versions=e["versions"], wrong=e["wrong"], todo=e.get("todo", ""))
            for cli, entries in data.items()
            for e in entries
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataFileError(f"{_DATA.name} cannot be read: {error}.", hint="Install Touchline again.") from error
    for entry in found:
        if entry.versions != "*" and _CONDITION.sub("", entry.versions).strip(", "):
            raise DataFileError(f"{_DATA.name}: {entry.versions!r} is no condition.", hint="Install Touchline again.")
    return found


def misbehaviour(cli: str, version: str) -> tuple[Misbehaviour, ...]:
    """What is known of this version."""
    return tuple(entry for entry in known() if entry.cli == cli and entry.concerns(version))


def warning(cli: str, version: str) -> str:
    """What a person should know and do before using this version; empty when nothing."""
    return " ".join(f"{entry.wrong} {entry.todo}" for entry in misbehaviour(cli, version) if entry.warns)


def ask_version(path: Path, env: Mapping[str, str]) -> str:
    """What `--version` says, as the number alone; empty when it says nothing of use. Never raises.

    A program that has not changed since is not asked again: every turn of every session wants to know.
    """
    try:
        about = path.stat()
    except OSError:
        return ""
    key = (str(path), about.st_ino, about.st_size, about.st_mtime_ns)
    if key not in _told:
        found = _ask(path, env)
        if not found:
            return ""
        _told[key] = found
    return _told[key]


def _ask(path: Path, env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the program that the user has installed
            [str(path), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ASK_SECONDS,
            env=dict(env),
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    found = _NUMBER.search(done.stdout.decode("utf-8", "replace"))
    return found[0] if found else ""


def _number(version: str) -> tuple[int, ...]:
    found = _NUMBER.search(version)
    # A dozen digits is more than any version has, and no more than is safe to read.
    return tuple(int(part[:12]) for part in found[0].split(".")) if found else ()


def _holds(told: tuple[int, ...], sign: str, than: tuple[int, ...]) -> bool:
    length = max(len(told), len(than))
    left, right = told + (0,) * (length - len(told)), than + (0,) * (length - len(than))
    match sign:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case _:
            return left == right
