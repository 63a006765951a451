"""What must be known of an agent to speak the Agent Client Protocol with it? Data, and how its process is set up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from touchline.agents.port import Abilities, PrivateHome, Request

ABILITIES = Abilities(resume=True, interrupt=True)
"""Of an agent nothing is known of but that it speaks the protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the process of an agent is set up for one turn."""

    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[Path, ...] = ()
    """As in `Launch`."""
    keeps: tuple[Path, ...] = ()
    """As in `Launch`."""
    homes: tuple[PrivateHome, ...] = ()
    """As in `Launch`."""


SetUp = Callable[[Request, Mapping[str, str]], Setting]
"""What one turn needs, from its request and the user's environment. Raises `InputError` for what cannot be had."""


def nothing_special(_request: Request, _env: Mapping[str, str]) -> Setting:
    """The set-up of an agent that needs none."""
    return Setting()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One agent."""

    name: str
    command: tuple[str, ...]
    """The program, looked for on PATH unless it is a path, and its arguments."""
    abilities: Abilities = ABILITIES
    advice: str
    """How to install it, in one line."""
    set_up: SetUp = nothing_special
    settings: tuple[str, ...] = ()
    """Keys of `Request.settings` that `set_up` understands, besides `env`."""
    auth_method: str = ""
    """Tried once when the agent wants an authentication, if it offers it."""
    work_mode: str = ""
    """The session mode for work; empty leaves the agent's own."""
    read_only_mode: str = ""
    """The session mode for reading only; empty where flags or settings do it."""
    leaves: bool = True
    """As in `Launch`."""
    sets_model: bool = True
    """The model is chosen within the session; False where `set_up` does it."""
