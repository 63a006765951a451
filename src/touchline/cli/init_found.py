"""What is there to begin with? The agents, commands and sandbox of a repository on this machine; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from string import Template

from touchline.agents.registry import NOT_BY_ITSELF, ORDER, drivers
from touchline.agents.sandbox import Probe, probe
from touchline.roles.validation.discovery import Check, find_checks, look_at
from touchline.settings.values import toml_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent whose CLI is on the PATH."""

    name: str
    path: str
    version: str
    """Empty when it does not say one, which is how a CLI looks that cannot start."""
    warning: str
    """What is known to be wrong with this version, and what to do."""
    own_sandbox: bool

    @property
    def starts(self) -> bool:
        return bool(self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A repository and a machine at a glance."""

    root: Path
    agents: tuple[Agent, ...]
    """Those that are taken first come first."""
    checks: tuple[Check, ...]
    languages: Mapping[str, int]
    sandbox: Probe

    @property
    def agent(self) -> Agent | None:
        """The one that a run takes: the first that starts."""
        return next((each for each in self.agents if each.starts), None)

    def command(self, kind: str) -> str:
        return next((each.command for each in self.checks if each.kind == kind), "")


def see(root: Path, env: Mapping[str, str]) -> Seen:
    """Look around."""
    with ThreadPoolExecutor(2) as pool:
        tried = pool.submit(probe, env)
        agents = find_agents(env)
        code = look_at(root)
        return Seen(
            root=root,
            agents=agents,
            checks=find_checks(root, languages=code.languages),
            languages=code.languages,
            sandbox=tried.result(),
        )


def find_agents(env: Mapping[str, str]) -> tuple[Agent, ...]:
    """The agents on the PATH, asked for their version at the same time."""
    known = drivers()
    names = [*(n for n in ORDER if n in known), *sorted(set(known) - set(ORDER) - NOT_BY_ITSELF)]
    with ThreadPoolExecutor(max(1, len(names))) as pool:
        found = list(pool.map(lambda name: known[name].find(env), names))
    return tuple(
        Agent(
            name=name,
            path=str(each.path),
            version=each.version,
            warning=each.warning,
            own_sandbox=known[name].abilities.own_sandbox,
        )
        for name, each in zip(names, found, strict=True)
        if each is not None
    )


def settings_text(seen: Seen) -> str:
    """The settings file that fits."""
    test = seen.command("unit")
    template = Template(Path(__file__).with_name("init_template.toml").read_text(encoding="utf-8"))
    agent = seen.agent.name if seen.agent else "claude"
    own = seen.agent is not None and seen.agent.own_sandbox
    level = "own" if own and not seen.sandbox.bubblewrap else "bubblewrap"
    lines = [f"# {each.kind} = {toml_of(each.command)}" for each in seen.checks]
    return template.substitute(
        agent=agent,
        sandbox=level,
        check=_check(test, confined=seen.sandbox.bubblewrap),
        checks="\n".join(lines) or '# unit = "make test"',
    )


def _check(test: str, *, confined: bool) -> str:
    """The line that lets Touchline check by itself; only offered where every run would be refused for it."""
    line = f"check = {toml_of(test)}" if test else '# check = "make test"'
    if not test or confined:
        return line
    return f'# It needs bubblewrap, which does not work on this machine, or sandbox = "none".\n# {line}'
