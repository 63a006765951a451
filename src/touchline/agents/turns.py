"""How is one turn run? A driver's process is started, confined, heard, spoken to, limited and ended, for all alike.

One blocking loop per turn, in the caller's thread (the process dies with that thread): it sleeps until a byte comes,
the process ends, a limit passes, or a second is over and `must_stop` is asked. What the agent did is judged elsewhere.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from touchline.agents import environment, sandbox
from touchline.agents.port import Driver, Found, Launch, Level, Request
from touchline.agents.private_home import share_tokens
from touchline.agents.redaction import Redactor
from touchline.agents.turns_loop import Exchange
from touchline.agents.turns_values import Observer, Ran, Say, Stop, TurnLimits
from touchline.errors import AgentError
from touchline.processes.children import Child, start_child

__all__ = ["Observer", "Ran", "Say", "Stop", "TurnLimits", "run_turn"]


def run_turn(
    driver: Driver,
    request: Request,
    found: Found,
    *,
    level: Level,
    env: Mapping[str, str],
    records: Path,
    raw: Path,
    limits: TurnLimits,
    observe: Observer,
    must_stop: Callable[[], bool],
    on_session: Callable[[str], None],
    on_quiet: Callable[[float], None] = lambda _seconds: None,
    spent_before: Mapping[str, Any] | None = None,
    allow: tuple[str, ...] = (),
) -> Ran:
    """Run one turn to its end and tell all that was heard, whatever the process did.

    `env` is the user's whole environment; the agent gets the allowed part of it, `allow` naming more variables.
    `records` is where running children are written down (`processes.children`). `on_session` is called before the start
    when the id is ours to give, else as soon as the CLI tells it; `on_quiet` when nothing was heard for
    `limits.silence_seconds`. `AgentError` when the program is not there or cannot
    be started, `SandboxError` when the level cannot be had, `InputError` for a request that the CLI cannot serve; what
    `observe`, `must_stop` or `on_session` raise comes through, after the process has been ended.
    """
    request = _completed(driver, request, level, raw)
    _check_program(driver, found)
    launch = driver.launch(request, found, env)
    conversation = driver.converse(request, spent_before=spent_before)
    base = environment.environment_for(env, driver=driver.name, allow=allow)
    whole = {**base, **launch.env}
    redactor = Redactor(environment.secrets_in({**env, **launch.env}))
    confined = sandbox.confine(
        launch,
        level=level,
        workspace=request.workspace,
        read_only=request.read_only,
        folders=request.folders,
        env=whole,
    )
    if conversation.session_id:
        on_session(conversation.session_id)
    child = _start(confined, records=records, cwd=launch.cwd or request.workspace, env={**whole, **confined.env})
    with Exchange(
        child,
        conversation,
        raw=raw,
        redactor=redactor,
        limits=limits,
        launch=launch,
        observe=observe,
        on_session=on_session,
        on_quiet=on_quiet,
    ) as exchange:
        exchange.run(must_stop)
    if level == "bubblewrap":
        for home in launch.homes:
            share_tokens(home)
    turn = exchange.finish()
    if turn.model is None and launch.model:
        turn = replace(turn, model=launch.model)
    return Ran(
        turn=turn,
        spent=driver.spent(conversation),
        said=tuple(exchange.said),
        unsaid=tuple(exchange.unsaid),
        stopped=exchange.stopped,
        seconds=exchange.seconds,
        raw=raw,
        raw_error=exchange.raw_error,
        errors=exchange.errors,
    )


def _completed(driver: Driver, request: Request, level: Level, raw: Path) -> Request:
    new = request.new_session
    if request.session is None and new is None and driver.abilities.preset:
        new = str(uuid.uuid4())
    keep = request.keep or raw.parent / "cli"
    return replace(request, new_session=new, confined=level != "own", keep=keep, scratch=request.scratch or raw.parent)


def _check_program(driver: Driver, found: Found) -> None:
    path = found.path
    if not path.is_file():
        raise AgentError(f"The program of {driver.name} is not at {path}.", hint=driver.advice())
    if shutil.which(str(path)) is None:
        raise AgentError(f"{path} cannot be run: it is not executable.", hint=driver.advice())


def _start(launch: Launch, *, records: Path, cwd: Path, env: Mapping[str, str]) -> Child:
    if not cwd.is_dir():
        raise AgentError(f"The agent cannot work in {cwd}: there is no such folder.", hint="Give an existing one.")
    try:
        return start_child(launch.argv, records=records, cwd=cwd, env=env, talks=launch.talks)
    except OSError as error:
        raise AgentError(
            f"{launch.argv[0]} cannot be started: {error.strerror or error}.",
            hint="See `touchline doctor` for what this machine has.",
        ) from error
