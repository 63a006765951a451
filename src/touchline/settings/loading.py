"""What holds here? Flag, else environment, else the project's file, else the user's file, else the default."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from touchline.errors import SettingsError
from touchline.settings.files import SettingsFile, read_file
from touchline.settings.folders import bare_root, git_root, project_file, user_file
from touchline.settings.keys import (
    ANY_AGENT,
    OTHERS,
    PREFIX,
    Key,
    key_named,
    keys,
    nearest,
    require_key,
    suggestion,
    variable_for,
)
from touchline.settings.sections import AGENTS, SECTIONS, AgentSection
from touchline.settings.settings import Settings
from touchline.settings.trust import guarded_of, is_trusted
from touchline.settings.values import fitted, fitted_text

Source = Literal["flag", "environment", "project", "user", "default"]
ORDER: tuple[Source, ...] = get_args(Source)
_AGENT_FIELDS = tuple(each.name for each in fields(AgentSection))
_OF_AGENT = re.compile(rf"{PREFIX}AGENTS_([A-Z][A-Z0-9_]*)_({'|'.join(_AGENT_FIELDS).upper()})")
_SECTIONS = tuple(f"{PREFIX}{section.upper()}_" for section in SECTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a value came from."""

    source: Source
    where: str = ""
    """The option, the variable, or the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The settings with all that is to be told about them."""

    settings: Settings
    origins: Mapping[str, Origin]
    """By setting; what is not here is at its default."""
    project: SettingsFile | None
    user: SettingsFile | None
    ignored: Mapping[str, Any] = field(default_factory=dict)
    """Guarded settings of the project's file that would hold, but that nobody has trusted; they are not used."""
    strange: Mapping[str, str] = field(default_factory=dict)
    """Variables that are named as ours and nobody knows, each with what may have been meant."""

    @property
    def notice(self) -> str:
        """What a person must be told: that something of theirs is not used. Empty when nothing is ignored."""
        if not self.ignored or self.project is None:
            return ""
        names = ", ".join(self.ignored)
        return f"{self.project.path}: not used, because nobody has trusted it yet: {names}. See: touchline config trust"

    def where(self, name: str) -> str:
        """Where a value came from, in words: `touchline.toml:3`, `TOUCHLINE_RUN_AGENT`, `default`."""
        origin = self.origins.get(name)
        if origin is None:
            return "default"
        file = {"project": self.project, "user": self.user}.get(origin.source)
        if file is None:
            return origin.where
        line = file.lines.get(name, 0)
        return f"{origin.where}:{line}" if line else origin.where


def settings_for(flags: Mapping[str, Any], env: Mapping[str, str], folder: Path, home: Path) -> Settings:
    """What holds in a folder. `flags` by the setting's name (`run.agent`); None is a flag that was not given.

    SettingsError for an unknown key, in a file or as a variable, or a value that does not fit. What `Settings.notice`
    says is to be shown.
    """
    return find_settings(flags, env, folder, home).settings


def find_settings(flags: Mapping[str, Any], env: Mapping[str, str], folder: Path, home: Path) -> Found:
    """The same, with where each value came from."""
    mine = read_file(user_file(env, home))
    place = project_file(folder)
    ours = read_file(place) if place is not None else None
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}

    def take(name: str, value: Any, source: Source, where: str) -> None:
        values[name] = value
        origins[name] = Origin(source=source, where=where)

    if mine is not None:
        for name, value in mine.values().items():
            take(name, value, "user", str(mine.path))
    ignored: dict[str, Any] = {}
    if ours is not None:
        said = ours.values()
        guarded = guarded_of(said)
        if not is_trusted(ours.path.parent, guarded, env=env, home=home):
            ignored = guarded
        for name, value in said.items():
            allowed = values.get(name) if require_key(name).lowers else None
            if name not in ignored and (allowed is None or value < allowed):
                take(name, value, "project", str(ours.path))
    named = {name.split(".")[1] for name in values if name.startswith(f"{AGENTS}.")}
    strange = _strange(env)
    if slip := next((name for name in strange if name.startswith(_SECTIONS)), ""):
        meant = f"Did you mean {strange[slip]}?" if strange[slip] else suggestion(_as_key(slip))
        raise SettingsError(f"{slip}: there is no such setting.", hint=meant)
    for key, text in _variables(env, named):
        take(key.name, fitted_text(key, text, at=f"{key.variable}: "), "environment", key.variable)
    for name, value in flags.items():
        if value is not None:
            key = require_key(name)
            take(name, fitted(key, list(value) if isinstance(value, tuple) else value, at=""), "flag", f"--{key.short}")
    over = {name for name, origin in origins.items() if origin.source in ("flag", "environment")}
    ignored = {name: value for name, value in ignored.items() if name not in over}
    found = Found(
        settings=_made(values),
        origins=origins,
        project=ours,
        user=mine,
        ignored=ignored,
        strange=strange,
    )
    return found if not found.notice else _with_notice(found)


def project_root(folder: Path) -> Path:
    """The root of the repository around a folder. SettingsError where there is none."""
    root = git_root(folder)
    if root is None and (bare := bare_root(folder)) is not None:
        raise SettingsError(
            f"{bare} is a bare git repository, in which no files are checked out.",
            hint=f"Change into a checkout of it, or make one with: git clone {bare}",
        )
    if root is None:
        raise SettingsError(f"{folder} is in no git repository.", hint="Change into one, or make one with: git init")
    return root


def _with_notice(found: Found) -> Found:
    from dataclasses import replace

    return replace(found, settings=replace(found.settings, notice=found.notice))


def _made(values: Mapping[str, Any]) -> Settings:
    made: dict[str, Any] = {}
    for section, kind in SECTIONS.items():
        if section == AGENTS:
            names = sorted({name.split(".")[1] for name in values if name.startswith(f"{AGENTS}.")})
            made[section] = {agent: kind(**_under(values, f"{AGENTS}.{agent}", kind)) for agent in names}
        else:
            made[section] = kind(**_under(values, section, kind))
    return Settings(thresholds=made.pop("limits"), **made)


def _under(values: Mapping[str, Any], section: str, kind: type) -> dict[str, Any]:
    names = {f"{section}.{each.name}": each.name for each in fields(kind)}
    return {names[name]: value for name, value in values.items() if name in names}


def _variables(env: Mapping[str, str], agents: set[str]) -> Iterator[tuple[Key, str]]:
    """Settings of the environment; an empty variable says nothing."""
    for key in keys().values():
        if ANY_AGENT not in key.name and env.get(key.variable):
            yield key, env[key.variable]
    spelled = {agent.upper().replace("-", "_"): agent for agent in agents}
    for variable, text in sorted(env.items()):
        of_agent = _OF_AGENT.fullmatch(variable)
        if of_agent and text:
            agent = spelled.get(of_agent[1], of_agent[1].lower())
            key_of_agent = key_named(f"{AGENTS}.{agent}.{of_agent[2].lower()}")
            if key_of_agent is not None:
                yield key_of_agent, text


def without_slips(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables of no setting: for one of them a hook must not give up all the others."""
    strange = _strange(env)
    return {name: text for name, text in env.items() if name not in strange}


def _strange(env: Mapping[str, str]) -> dict[str, str]:
    known = {key.variable for key in keys().values() if ANY_AGENT not in key.name}
    return {
        name: _meant(name, known)
        for name in sorted(env)
        if name.startswith(PREFIX) and env[name] and name not in known | OTHERS and not _OF_AGENT.fullmatch(name)
    }


def _meant(variable: str, known: set[str]) -> str:
    """The variable that may have been meant; empty when none is near."""
    named = key_named(_as_key(variable))
    if named is not None:
        return named.variable  # `judge.model` has one of another name
    # Without the beginning that all of them have, and that would make all of them near.
    near = nearest(variable.removeprefix(PREFIX), [n.removeprefix(PREFIX) for n in known | _of_its_agent(variable)])
    return f"{PREFIX}{near}" if near else ""


def _as_key(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower().replace("_", ".", 1)


def _of_its_agent(variable: str) -> set[str]:
    """What could be said of the agent that a variable names: TOUCHLINE_AGENTS_CLAUDE_FLAGS and the like."""
    agent = variable.removeprefix(f"{PREFIX}AGENTS_").partition("_")[0]
    return {variable_for(f"{AGENTS}.{agent}.{each}") for each in _AGENT_FIELDS} if agent != variable else set()
