"""Which variables does an agent get? The listed ones (`environment.toml`), its provider's keys, no other secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Any

SHORTEST_SECRET = 8
"""Shorter values are not looked for in what is written: they would be found in ordinary words."""

_SECRET = re.compile(
    r"(?:^|_)(?:KEYS?|PASS|PWD|AUTH|CREDS|COOKIE|SIGNATURE|DSN|PAT|JWT)(?:_|$)"
    r"|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:API|ACCESS|PRIVATE)KEY",
    re.IGNORECASE,
)
_NO_SECRET = {"PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_TTY", "XAUTHORITY"}


def environment_for(
    base: Mapping[str, str],
    *,
    driver: str,
    extra: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    allow: Iterable[str] = (),
) -> dict[str, str]:
    """The environment of an agent's process.

    `base` is the user's; of it stay the listed variables that look like no secret, what the driver's CLI needs, secrets
    of its provider included, and what the user's own settings `allow` by name or pattern. `extra` is set in any case.
    """
    tables = _tables()
    asked = _any_of((*_needed(tables["drivers"].get(driver, {}), base), *allow))
    always = _any_of(tuple(tables["always"]))
    passed = {
        name: value
        for name, value in base.items()
        if asked.match(name) or (always.match(name) and not looks_secret(name))
    }
    if "PATH" in passed:
        # "." or an empty entry would find programs in the folder that the agent writes.
        kept = [folder for folder in passed["PATH"].split(os.pathsep) if os.path.isabs(folder)]
        passed["PATH"] = os.pathsep.join(kept)
    return {**passed, **dict(extra)}


def looks_secret(name: str) -> bool:
    """True for a variable whose name says that its value is not for others."""
    return name.upper() not in _NO_SECRET and _SECRET.search(name) is not None


def secrets_in(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values that must not be written anywhere: those of variables that look secret, if long enough to be."""
    found = {value.strip() for name, value in env.items() if looks_secret(name)}
    return tuple(sorted(value for value in found if len(value) >= SHORTEST_SECRET and not _is_plain(value)))


def _is_plain(value: str) -> bool:
    """A path to a secret, a number or a switch is none: taking it out everywhere would only harm."""
    return value.startswith(("/", "~/")) or value.isdecimal() or value.lower() in {"disabled", "required", "optional"}


def _needed(table: Mapping[str, Any], base: Mapping[str, str]) -> list[str]:
    names = list(table.get("names", ()))
    for switch, more in table.get("with", {}).items():
        if base.get(switch, "").lower() not in ("", "0", "false"):
            names += more
    return names


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What a name must match to fit one of the patterns; without any, nothing does."""
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


@cache
def _tables() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("environment.toml").read_text(encoding="utf-8"))
