"""What does a command line ask of a build? Options over settings files; what cannot work is told before it starts."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from touchline.errors import InputError, WorkspaceError

if TYPE_CHECKING:
    from touchline.roles.build.settings import BuildSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options, as they were typed; None and empty were not given."""

    agent: str = ""
    model: str = ""
    judge: str = ""
    parallel: int | None = None
    plan: bool | None = None
    validation: str = ""
    usd: float | None = None
    tokens: int | None = None
    max_seconds: float | None = None
    may_install: bool | None = None
    sandbox: str = ""
    script: Path | None = None

    def values(self) -> dict[str, Any]:
        """What was given, by the name of the build's setting."""
        names = (
            "agent",
            "model",
            "judge",
            "parallel",
            "plan",
            "usd",
            "tokens",
            "max_seconds",
            "may_install",
            "sandbox",
        )
        return {name: value for name in names if (value := getattr(self, name)) not in (None, "")}


def settings_of(given: Given, folder: Path) -> tuple[Path, BuildSettings]:
    """The repository's root, and how it is built there. Any TouchlineError says what does not fit."""
    from touchline.agents.workspaces.repository import find_repository
    from touchline.cli.terminal import say
    from touchline.roles.build.settings import BuildSettings
    from touchline.settings.loading import settings_for

    if not folder.is_dir():
        raise InputError(f"--repository: there is no folder {folder}.", hint="Name the folder of a git repository.")
    found = find_repository(folder.resolve(), os.environ)
    if found.commit("HEAD") is None:
        raise WorkspaceError(
            f"{found.root} has no commit yet, so there is nothing to build on.",
            hint="Make one: git commit --allow-empty -m 'Begin'",
        )
    settings = settings_for({}, os.environ, found.root, Path.home())
    if settings.notice:
        say(settings.notice)
    _require_positive(given)
    agent = _agent(given.agent or ("scripted" if given.script is not None else settings.run.agent), given)
    values = {**settings.for_build(agent), **given.values(), "agent": agent}
    values["validation"] = _level(given.validation or values["validation"])
    if given.script is not None:
        values["agent_settings"] = {"script": str(given.script.resolve())}
    chosen = BuildSettings(**values)
    _require_confinement(chosen)
    _require_judge(chosen)
    return found.root, chosen


def changed(settings: BuildSettings, given: Given, repository: Path) -> BuildSettings:
    """The build's settings with what was given at its resumption. Another agent brings its own section of the settings
    along, and the driver's settings of the one before are dropped; nothing else is read from the files again."""
    from touchline.settings.loading import settings_for

    _require_positive(given)
    if given.agent and given.agent != settings.agent:
        agent = _agent(given.agent, given)
        anew = settings_for({}, os.environ, repository, Path.home()).for_build(agent)
        own = {name: anew[name] for name in ("model", "flags", "environment", "plugins", "requests")}
        settings = replace(settings, agent=agent, agent_settings={}, **own)
    chosen = replace(settings, **given.values())
    if given.agent:
        _require_confinement(chosen)
    if given.judge:
        _require_judge(chosen)
    return chosen


def _require_judge(settings: BuildSettings) -> None:
    """A line that fits nothing would be noticed only when the first paid change is to be read."""
    from touchline.models.opening import model_line, require_usable

    if line := model_line(os.environ, settings.judge):
        require_usable(line, os.environ)


def _require_positive(given: Given) -> None:
    named = (("--parallel", given.parallel), ("--budget-usd", given.usd), ("--max-tokens", given.tokens))
    for option, value in (*named, ("--max-seconds", given.max_seconds)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise InputError(f"{option}: {value:g} is no limit.", hint="Give a number above 0, or leave it out.")


def _level(name: Any) -> Any:
    from touchline.roles.validation.levels import Level

    if name not in {str(level) for level in Level}:
        raise InputError(f"--level: {name!r} is no level.", hint=f"Known: {', '.join(Level)}.")
    return Level(name)


def _agent(name: str | None, given: Given) -> str:
    """The driver's name. Chosen here and not by who runs it: it is this person's PATH that counts."""
    from touchline.agents.registry import driver_named, first_installed
    from touchline.errors import AgentError

    if given.script is not None and name != "scripted":
        raise InputError(f"--script is for the scripted agent, not for {name}.", hint="Leave one of them out.")
    if not name:
        return first_installed(os.environ)[0].name
    driver = driver_named(name)
    if driver.find(os.environ) is None:
        raise AgentError(f"The agent {name!r} is not installed here.", hint=driver.advice())
    if name == "scripted":
        from touchline.rehearsal.script import load_script

        if given.script is None:
            raise InputError("The scripted agent needs a script.", hint="Name it: --script FILE")
        load_script(given.script)
    return name


def _require_confinement(settings: BuildSettings) -> None:
    """The levels are chosen when sessions are prepared; whether there are any is told now."""
    from touchline.agents import sandbox
    from touchline.agents.port import Level
    from touchline.agents.registry import driver_named
    from touchline.cli.run_asked import require_able

    if settings.sandbox is not None and settings.sandbox not in get_args(Level):
        raise InputError(f"--sandbox: {settings.sandbox!r} is no level.", hint=f"Known: {', '.join(get_args(Level))}.")
    abilities, found = driver_named(settings.agent or "").abilities, sandbox.probe(os.environ)
    require_able(settings.agent or "", abilities, plugins=settings.plugins, requests=settings.requests)
    for read_only in {False, settings.plan}:
        # Who plans is not checked; every task is.
        sandbox.choose(settings.sandbox, found, abilities, read_only=read_only, checked=not read_only)
