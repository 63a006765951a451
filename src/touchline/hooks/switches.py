"""Has somebody told the agent to run no hooks at all? Each agent's own switch, over all its settings files.

Tried with the CLIs themselves: the file nearest to the work decides, in either direction, for hooks of every file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from touchline.errors import InputError
from touchline.hooks.agents_known import HOMES, Level, settings_file
from touchline.hooks.settings_text import value_of
from touchline.supervision.values import Value

_NEAREST_FIRST: tuple[Level, ...] = ("local", "project", "user")


class Switch(Value):
    """What turns hooks off, and where it stands."""

    path: Path
    words: str

    @property
    def detail(self) -> str:
        return f"{self.path} says {self.words}"

    @property
    def fix(self) -> str:
        return f"Take {self.words} out of {self.path}."


def switched_off(agent: str, *, folder: Path, env: Mapping[str, str]) -> Switch | None:
    """What keeps the agent from running any hook in this folder; None where nothing does."""
    if agent == "claude":
        for path, told in _settings(agent, folder, env):
            if isinstance(said := told.get("disableAllHooks"), bool):
                return Switch(path=path, words='"disableAllHooks": true') if said else None
    elif agent == "gemini":
        return _gemini(tuple(_settings(agent, folder, env)))
    elif agent == "codex":
        return _codex(folder, env)
    return None


def _gemini(files: tuple[tuple[Path, Mapping[str, Any]], ...]) -> Switch | None:
    said = [(path, config) for path, told in files if isinstance(config := told.get("hooksConfig"), dict)]
    for path, config in said:
        names = config.get("disabled")
        if isinstance(names, list) and "touchline" in names:
            return Switch(path=path, words='"touchline" in "hooksConfig.disabled"')
    for path, config in said:
        if isinstance(enabled := config.get("enabled"), bool):
            return None if enabled else Switch(path=path, words='"hooksConfig": {"enabled": false}')
    return None


def _codex(folder: Path, env: Mapping[str, str]) -> Switch | None:
    user = settings_file(HOMES["codex"], "user", folder=folder, env=env)
    assert user is not None
    own = user.with_name("config.toml")
    told = _toml(own)
    project = _table(_table(told, "projects"), str(folder))
    files = [(own, told)]
    if project.get("trust_level") == "trusted":
        nearest = folder / ".codex" / "config.toml"
        files.insert(0, (nearest, _toml(nearest)))
    for path, each in files:
        features = _table(each, "features")
        for name in ("hooks", "codex_hooks"):
            if isinstance(said := features.get(name), bool):
                return None if said else Switch(path=path, words=f"features.{name} = false")
    return None


def _settings(agent: str, folder: Path, env: Mapping[str, str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """What each of the agent's settings files holds, as far as it can be read."""
    for level in _NEAREST_FIRST:
        path = settings_file(HOMES[agent], level, folder=folder, env=env)
        if path is None:
            continue
        try:
            yield path, value_of(path.read_text(encoding="utf-8-sig"), comments=HOMES[agent].comments)
        except (OSError, ValueError, InputError):
            continue


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _table(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = told.get(name)
    return found if isinstance(found, dict) else {}
