"""Which backend answers for the configured model?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from touchline.errors import ModelError
from touchline.models.asking import SECONDS, Asker, Backend
from touchline.models.cache import Cache
from touchline.models.naming import parse_model

VARIABLE = "TOUCHLINE_MODEL"
CACHE = "TOUCHLINE_MODEL_CACHE"
"""A folder of answers, for replays: what was asked before, word for word, is not asked again."""


def model_line(env: Mapping[str, str], given: str = "") -> str:
    """The configured model: the one that was given, else the environment's; empty when there is none."""
    return given.strip() or env.get(VARIABLE, "").strip()


def require_usable(line: str, env: Mapping[str, str]) -> None:
    """ModelError or ScriptError when nobody could be asked by this line, as far as that shows without asking: it fits
    nothing, its agent is not installed, its file of answers cannot be read."""
    asker_for(line, env=env)
    name = parse_model(line)
    if name.backend == "cli":
        from touchline.agents.registry import driver_named

        driver = driver_named(name.target)
        if driver.find(env) is None:
            raise ModelError(f"{name.line}: {driver.name} is not installed.", hint=driver.advice())


def asker_for(
    line: str,
    *,
    cache: Path | None = None,
    seconds: float = SECONDS,
    records: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Asker:
    """An asker for one line of configuration. ModelError when the line is empty or fits nothing; nothing is started.

    `cache` is a folder of answers; None takes the environment's, if it names one. `env` is where an agent CLI and the
    key for a compatible server are looked for, too; None is this process's own, from which providers read their keys.
    """
    name = parse_model(line)
    env = os.environ if env is None else env
    folder = cache or (Path(env[CACHE]) if env.get(CACHE) else None)
    backend: Backend
    match name.backend:
        case "provider" | "compatible":
            from touchline.models.provider import ProviderModel

            backend = ProviderModel(name, env=env)
        case "cli":
            from touchline.models.agent_cli import AgentModel

            backend = AgentModel(name, env=env, records=records)
        case "scripted":
            from touchline.models.scripted import ScriptedModel

            backend = ScriptedModel(Path(name.target))
        case _:  # pragma: no cover
            assert_never(name.backend)
    return Asker(name=name, backend=backend, cache=Cache(folder) if folder is not None else None, seconds=seconds)
