"""What does a command line ask of a session? Options become `Asked`; what cannot work is told before it starts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from touchline.cli.terminal import say
from touchline.errors import InputError, WorkspaceError
from touchline.settings.loading import settings_for

if TYPE_CHECKING:
    from touchline.agents.port import Abilities
    from touchline.agents.workspaces.repository import Repository
    from touchline.sessions.asked import Asked

_CONTRACT = '{"tokens": [{"name": "plan_path", "type": "path"}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options of `touchline run`, as they were typed."""

    task: str
    agent: str = ""
    model: str = ""
    check: str | None = None
    skill: str = ""
    plan: Path | None = None
    phase: str = ""
    contract: Path | None = None
    budget_usd: float | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    read_only: bool = False
    sandbox: str = ""
    folders: tuple[Path, ...] = ()
    script: Path | None = None
    repository: Path = Path()


def asked_of(given: Given, env: Mapping[str, str] | None = None) -> Asked:
    """The session that is asked for; what no option says is as the settings say.

    InputError, WorkspaceError, AgentError or SandboxError say what does not fit.
    """
    from touchline.sessions.asked import Asked

    env = os.environ if env is None else env
    _require_positive(given)
    if given.check is not None and not given.check.strip():
        raise InputError("--check: the command is empty.", hint="Name a command, or leave the option out.")
    repository = _repository(given.repository, env)
    settings = settings_for({"run.check": given.check or None}, env, given.repository.resolve(), Path.home())
    if settings.notice:
        say(settings.notice)
    if not given.agent and given.script is None:
        given = replace(given, agent=settings.run.agent)
    agent = _agent(given, env)
    usual = settings.for_run(agent)
    asked = Asked(
        **usual
        | {
            "model": given.model or usual["model"],
            "check": usual["check"] if given.check is None else given.check,
            "usd": given.budget_usd or usual["usd"],
            "turns": given.max_turns or usual["turns"],
            "tokens": given.max_tokens or usual["tokens"],
            "seconds": given.max_seconds or usual["seconds"],
            "sandbox": given.sandbox or usual["sandbox"],
        },
        task=given.task,
        repository=str(given.repository.resolve()),
        plan=_plan(given.plan, repository),
        phase=given.phase or None,
        skill=given.skill or None,
        contract=_contract(given.contract),
        read_only=given.read_only,
        reviewer="architect" if settings.judge.model else None,
        reviewer_model=settings.judge.model or None,
        settings={} if given.script is None else {"script": str(given.script.resolve())},
        folders=tuple(_folder(each) for each in given.folders),
    )
    _require_able(asked)
    _require_confinement(asked, env)
    return asked


def _require_positive(given: Given) -> None:
    for option, value in (
        ("--budget-usd", given.budget_usd),
        ("--max-turns", given.max_turns),
        ("--max-tokens", given.max_tokens),
        ("--max-seconds", given.max_seconds),
    ):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise InputError(f"{option}: {value:g} is no limit.", hint="Give a number above 0, or leave it out.")


def _repository(folder: Path, env: Mapping[str, str]) -> Repository:
    from touchline.agents.workspaces.repository import find_repository

    if not folder.is_dir():
        raise InputError(f"--repository: there is no folder {folder}.", hint="Name the folder of a git repository.")
    found = find_repository(folder.resolve(), env)
    if found.commit("HEAD") is None:
        raise WorkspaceError(
            f"{found.root} has no commit yet, and the agent works in a clone.",
            hint="Commit something first: git add -A && git commit -m Start (or --allow-empty).",
        )
    return found


def _agent(given: Given, env: Mapping[str, str]) -> str:
    """The driver's name. Chosen here and not by who runs it: it is this person's PATH that counts."""
    from touchline.agents.registry import driver_named, first_installed
    from touchline.errors import AgentError

    if given.script is not None and given.agent not in ("", "scripted"):
        raise InputError(
            f"--script is for the scripted agent, not for {given.agent}.",
            hint=f"Against a scripted model, run: touchline rehearse {given.script} -- {given.agent} ...",
        )
    name = given.agent or ("scripted" if given.script is not None else "")
    if not name:
        return first_installed(env)[0].name
    driver = driver_named(name)
    if driver.find(env) is None:
        raise AgentError(f"The agent {name!r} is not installed here.", hint=driver.advice())
    if name == "scripted":
        _require_script(given.script)
    return name


def _require_script(path: Path | None) -> None:
    from touchline.rehearsal.script import load_script

    if path is None:
        raise InputError(
            "The scripted agent needs a script.", hint="Name it: --script FILE (docs/reference/rehearsal-script.md)."
        )
    load_script(path)


def _plan(path: Path | None, repository: Repository) -> str | None:
    """From the repository's root when it is committed there, so that the agent finds it in its clone, too."""
    if path is None:
        return None
    if not path.is_file():
        raise InputError(f"--plan: there is no file {path}.", hint="Name the file with the plan.")
    real = path.resolve()
    root = repository.root.resolve()
    if real.is_relative_to(root):
        inside = real.relative_to(root).as_posix()
        if repository.git.run("cat-file", "-e", f"HEAD:{inside}", codes=(0, 1, 128)).code == 0:
            return inside
    return str(real)


def _contract(path: Path | None) -> Mapping[str, Any] | None:
    if path is None:
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--contract: {path} cannot be read ({error.strerror}).", hint="Name a JSON file.") from error
    except ValueError as error:
        raise InputError(f"--contract: {path} is no JSON ({error}).", hint=f"Such as {_CONTRACT}") from error
    from touchline.sessions.contracts import contract_of

    try:
        contract_of(value)
    except InputError as error:
        raise InputError(f"--contract: {path}: {error.message}", hint=error.hint or f"Such as {_CONTRACT}") from error
    return cast(Mapping[str, Any], value)


def _folder(path: Path) -> str:
    if not path.is_dir():
        raise InputError(f"--folder: there is no folder {path}.", hint="Name folders that are there.")
    return str(path.resolve())


def _require_able(asked: Asked) -> None:
    """What the agent cannot do is told now: later it would cost a clone, or be left out in silence."""
    from touchline.agents.registry import driver_named

    abilities = driver_named(cast(str, asked.agent)).abilities
    if asked.skill and not abilities.skills:
        raise InputError(
            f"--skill: {asked.agent} cannot be told to use one of its skills.",
            hint="Ask for it in the words of the task, or take an agent that can: --agent claude.",
        )
    if (asked.contract or {}).get("schema") is not None and not abilities.schema:
        raise InputError(
            f"--contract: {asked.agent} cannot hold its answer to a JSON schema.",
            hint="Ask for `tokens` instead of a `schema`, or take an agent that can: --agent claude, --agent codex.",
        )
    require_able(cast(str, asked.agent), abilities, plugins=asked.plugins, requests=asked.requests)


def require_able(agent: str, abilities: Abilities, *, plugins: Sequence[str], requests: int | None) -> None:
    """What was set for an agent that cannot do it would be left out in silence."""
    for name, wanted, able in (
        ("plugins", plugins, abilities.plugins),
        ("requests", requests, abilities.max_turns),
    ):
        if wanted and not able:
            raise InputError(
                f"agents.{agent}.{name} is set, which {agent} cannot do.", hint="Take it out of the settings."
            )


def _require_confinement(asked: Asked, env: Mapping[str, str]) -> None:
    """The level is chosen when the session is prepared; whether there is one, and what cannot be had, is told now."""
    from touchline.agents import sandbox
    from touchline.agents.registry import driver_named

    abilities = driver_named(cast(str, asked.agent)).abilities
    probed, checked = sandbox.probe(env), bool(asked.check)
    sandbox.choose(asked.sandbox, probed, abilities, read_only=asked.read_only, checked=checked)
