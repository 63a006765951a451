"""Can agents work here? The checks of `touchline doctor` about versions, plug-ins and the sandbox."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from touchline.errors import AgentError
from touchline.store.checked import Checked, ok, problem, warning

_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def with_known_faults(one: Checked) -> Checked:
    """A program's check, with what is known of its version: agents that misbehave, a git that is too old."""
    if one.result != "ok":
        return one
    version = _NUMBER.search(one.found)
    if one.id == "git":
        return _git(one, version[0] if version else "")
    if one.id.startswith("agent.") and version:
        from touchline.agents.versions import misbehaviour

        known = [each for each in misbehaviour(one.id.removeprefix("agent."), version[0]) if each.warns]
        if known:
            words = " ".join(each.wrong for each in known)
            return warning(one.id, f"{one.found}. {words}", fix=" ".join(each.todo for each in known))
    return one


def check_sandbox(env: Mapping[str, str]) -> Checked:
    """Whether bubblewrap really confines here: it is run once, with what an agent gets."""
    from touchline.agents.sandbox import probe

    found = probe(env)
    if found.bubblewrap:
        return ok("sandbox", f"bubblewrap works; number of processes: {found.processes}")
    return warning("sandbox", f"bubblewrap cannot be used: {found.why_not}", fix=found.hint)


def check_plugins() -> Iterator[Checked]:
    """Drivers that other packages bring along; shown only when there are some."""
    from touchline.agents.registry import BUILT_IN, driver_named, driver_names

    for name in driver_names():
        if name in BUILT_IN:
            continue
        try:
            driver = driver_named(name)
            where = driver.find(os.environ)
        except AgentError as error:
            yield problem("agent.plugin", error.message, fix=error.hint)
            continue
        if where is None:
            yield warning("agent.plugin", f"{name} is not installed", fix=driver.advice())
        else:
            yield ok("agent.plugin", f"{name} {where.version} ({where.path})")


def _git(one: Checked, version: str) -> Checked:
    from touchline.agents.workspaces.repository import NEEDED

    told = tuple(int(part) for part in version.split(".")[:2])
    if len(told) == 2 and told < NEEDED:
        least = ".".join(map(str, NEEDED))
        return problem("git", f"{one.found}, needed is {least}", fix="Update git: agents work in clones.")
    return one
