"""Which agents are there? Drivers by entry point (group `touchline.agents`), and the first whose CLI is installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from touchline.agents.port import Driver, Found
from touchline.errors import AgentError

GROUP = "touchline.agents"
BUILT_IN = {
    "claude": "touchline.agents.claude:driver",
    "codex": "touchline.agents.codex:driver",
    "gemini": "touchline.agents.acp_presets:gemini",
    "opencode": "touchline.agents.acp_presets:opencode",
    "scripted": "touchline.rehearsal.driver:driver",
}
"""Ours, also where the installed package's metadata is older than its code."""
ORDER = ("claude", "codex", "opencode", "gemini")
"""Which installed CLI is taken when none is named: those that can be spoken to in mid-turn or start fastest first.
Plug-ins come after them by name; `scripted` plays a script and is only taken by name."""
NOT_BY_ITSELF = frozenset({"scripted"})


def driver_names() -> tuple[str, ...]:
    """Every driver that can be asked for by name, without loading any."""
    return tuple(sorted(_entries()))


def drivers() -> dict[str, Driver]:
    """Every driver, by name. A plug-in that cannot be loaded is left out here, and explained by `driver_named`."""
    found: dict[str, Driver] = {}
    for name in driver_names():
        try:
            found[name] = driver_named(name)
        except AgentError:
            continue
    return found


def driver_named(name: str) -> Driver:
    """One driver; `AgentError` names those there are."""
    entries = _entries()
    if name not in entries:
        raise AgentError(f"There is no agent {name!r}.", hint=f"There are {', '.join(sorted(entries))}.")
    return _loaded(name, entries[name])


def first_installed(env: Mapping[str, str]) -> tuple[Driver, Found]:
    """The driver that is taken when none is named, and where its CLI is."""
    known = drivers()
    others = sorted(set(known) - set(ORDER) - NOT_BY_ITSELF)
    tried = [known[name] for name in (*ORDER, *others) if name in known]
    for driver in tried:
        found = driver.find(env)
        if found is not None:
            return driver, found
    lines = "".join(f"\n  {driver.advice()}" for driver in tried)
    raise AgentError(
        f"No agent CLI is on the PATH ({', '.join(driver.name for driver in tried)} were looked for).",
        hint=f"Get one of them:{lines}\n`touchline demo` (or `make demo`) works without: it shows a scripted agent.",
    )


def _entries() -> dict[str, str]:
    return _found_on(tuple(sys.path))


@cache
def _found_on(_path: tuple[str, ...]) -> dict[str, str]:
    """Looked for once: it reads a file of every installed package, and each turn asks for its driver."""
    told = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return {**told, **BUILT_IN}


@cache
def _loaded(name: str, value: str) -> Driver:
    try:
        loaded: Driver = EntryPoint(name=name, value=value, group=GROUP).load()
    except Exception as error:  # a stranger's import may raise anything
        raise AgentError(
            f"The agent {name!r} ({value}) cannot be loaded: {error}.",
            hint="Update or remove the package that brings it along.",
        ) from error
    missing = [
        part for part in ("abilities", "find", "launch", "converse", "spent", "advice") if not hasattr(loaded, part)
    ]
    if missing or getattr(loaded, "name", None) != name:
        what = f"has no {missing[0]}" if missing else f"calls itself {getattr(loaded, 'name', None)!r}"
        raise AgentError(
            f"The agent {name!r} ({value}) is no driver: it {what}.",
            hint="See docs/how-to/add-an-agent-driver.md for what a driver must have.",
        )
    return loaded
