"""Are the settings in order? The checks of `touchline doctor` about files, trust, variables, model and hooks."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from touchline.errors import SettingsError, TouchlineError
from touchline.settings.files import read_file
from touchline.settings.folders import git_root, project_file, user_file
from touchline.settings.loading import Found, find_settings
from touchline.settings.settings import Settings
from touchline.store.checked import Checked, ok, problem, warning

FAULT_DAYS = 7
"""Faults of hooks that are older are history."""


def check_settings(env: Mapping[str, str], folder: Path, home: Path) -> Iterator[Checked]:
    """Each file by itself, then what holds: trust, variables, agents that are named, the model that judges."""
    sound = True
    for name, path in (("user", user_file(env, home)), ("project", project_file(folder))):
        one = check_file(name, path)
        sound = sound and one.result != "problem"
        yield one
    try:
        found = find_settings({}, env, folder, home) if sound else None
    except SettingsError as error:
        yield problem("settings.variables", error.message, fix=error.hint)
        return
    if found is None:
        return
    yield check_words(env, home)
    yield check_variables(found)
    yield check_trust(found)
    yield check_named_agents(found.settings)
    yield check_model(found.settings.judge.model, env)


def check_file(name: str, path: Path | None) -> Checked:
    check = f"settings.{name}"
    if path is None:
        return ok(check, "no project: this folder is in no git repository")
    try:
        file = read_file(path)
        count = len(file.values()) if file is not None else 0
    except SettingsError as error:
        return problem(check, error.message, fix=error.hint)
    return ok(check, f"{path}, {count} set" if file is not None else f"{path} is not there; defaults hold")


def check_words(env: Mapping[str, str], home: Path) -> Checked:
    """The person's own words for the coach, and their own phases."""
    from touchline.supervision import own_words
    from touchline.supervision.data_files import data_text

    folder = user_file(env, home).parent
    there = [name for name in own_words.NAMES if (folder / name).is_file()]
    try:
        for name in there:
            own_words.laid_over(name, tomllib.loads(data_text(name)), str(folder / name))
    except SettingsError as error:
        return problem("settings.words", error.message, fix=error.hint)
    return ok("settings.words", f"{', '.join(there)} in {folder}" if there else "those that come with Touchline")


def check_variables(found: Found) -> Checked:
    if not found.strange:
        used = sum(origin.source == "environment" for origin in found.origins.values())
        return ok("settings.variables", f"{used} settings from the environment")
    words = ", ".join(f"{name} (meant {near}?)" if near else name for name, near in found.strange.items())
    return warning(
        "settings.variables", f"not known: {words}", fix="Unset them, or see: touchline config explain run.agent"
    )


def check_trust(found: Found) -> Checked:
    if found.ignored:
        words = f"not used until you trust them: {', '.join(found.ignored)}"
        return warning("trust", words, fix="Look at them, and agree or not: touchline config trust")
    return ok("trust", "nothing of the project's file is held back")


def check_named_agents(settings: Settings) -> Checked:
    """An agent's name in a file is only known to be one where the drivers are."""
    from touchline.agents.registry import driver_names

    named = {*settings.agents, *([settings.run.agent] if settings.run.agent else [])}
    unknown = sorted(named - set(driver_names()))
    if unknown:
        return problem(
            "settings.agents", f"there is no agent {', '.join(unknown)}", fix=f"There are {', '.join(driver_names())}."
        )
    return ok("settings.agents", ", ".join(sorted(named)) or "none is named; the first installed is taken")


def check_model(line: str, env: Mapping[str, str]) -> Checked:
    """Whether the judging model could be asked, without asking it."""
    from touchline.models.naming import SET

    if not line:
        return ok("model", f"none is set, so no model is asked. {SET}")
    try:
        from touchline.models.opening import asker_for

        name = asker_for(line).name
        if name.backend == "cli":
            from touchline.agents.registry import driver_named

            driver = driver_named(name.target)
            if driver.find(env) is None:
                return problem("model", f"{line}: its CLI is not installed", fix=driver.advice())
    except TouchlineError as error:
        return problem("model", error.message, fix=error.hint or SET)
    key = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}.get(name.target.partition(":")[0])
    if name.backend == "provider" and key and not env.get(key):
        return warning("model", f"{line}: {key} is not set", fix=f"export {key}=…")
    return ok("model", line)


def check_hooks(env: Mapping[str, str], folder: Path) -> Checked:
    """Where the coach is installed, and whether it still works."""
    from touchline.hooks.agents_known import HOMES, Level
    from touchline.hooks.install import standing

    root = git_root(folder) or folder
    levels: tuple[Level, ...] = ("project", "local", "user")
    found = [
        one
        for agent in HOMES
        for level in levels
        if (one := standing(agent, level, folder=root, env=env)) is not None and one.result != "absent"
    ]
    broken = [f"{one.agent} ({one.path}): {one.detail or one.result}" for one in found if one.result != "installed"]
    if broken:
        first = next(one for one in found if one.result != "installed")
        return warning("hooks", "; ".join(broken), fix=first.fix)
    places = ", ".join(f"{one.agent} ({one.level})" for one in found)
    if places and (fault := _last_fault(env)):
        log = "hooks.log in Touchline's state folder has the others; the agent went on each time."
        return warning("hooks", f"{places}; the last fault: {fault}", fix=log)
    return ok("hooks", places or "not installed; the coach in interactive agents: touchline hook install claude")


def _last_fault(env: Mapping[str, str]) -> str:
    """The newest line of the hooks' log, where it is of the last days."""
    from touchline.hooks.memory import state_folder

    log = Path(state_folder(env)) / "hooks.log"
    try:
        if time.time() - log.stat().st_mtime > FAULT_DAYS * 86_400:
            return ""
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 4_000))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""
