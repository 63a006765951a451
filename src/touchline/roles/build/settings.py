"""How is a build carried out? What a person chose for it, kept with the build as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from touchline.agents.port import Level as Confinement
from touchline.errors import InputError
from touchline.roles.build.stopping import MAX_FAILED, MAX_SECONDS
from touchline.roles.validation.levels import Level
from touchline.sessions.asked import SILENCE_SECONDS, TURN_SECONDS
from touchline.supervision.limits import LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSettings:
    """What holds for all tasks of a build."""

    agent: str | None = None
    """The driver's name; None takes the first CLI that is installed."""
    model: str | None = None
    """For the agent's CLI."""
    judge: str = ""
    """The model line for reviews and answers; empty takes the configured model, and without one plans and changes are
    taken unreviewed, which is said."""
    parallel: int = 2
    """Tasks that run at a time."""
    plan: bool = True
    """Whether each task is planned, read-only, before it is built."""
    planning_turns: int = LIMITS.planning_turns
    coding_turns: int = LIMITS.coding_turns
    max_failed: int = MAX_FAILED
    max_seconds: float | None = MAX_SECONDS
    validation: Level = Level.STANDARD
    """How thoroughly the whole is validated at the end."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Checks a person declared, by kind."""
    check_seconds: float = 300.0
    """How long one task's check may take."""
    may_install: bool = False
    """Whether a package that an error names as missing may be installed in the task's clone."""
    sandbox: Confinement | None = None
    usd: float | None = None
    """Most money for the whole build; None is no limit, here and in the next two."""
    tokens: int | None = None
    runs_per_day: int | None = None
    turn_seconds: float = TURN_SECONDS
    """The longest that one turn of an agent may take."""
    silence_seconds: float = SILENCE_SECONDS
    """The longest that an agent may write nothing at all."""
    flags: tuple[str, ...] = ()
    """More arguments for the agent's CLI."""
    environment: tuple[str, ...] = ()
    """Names of variables that agents and checks get besides the usual ones; never their values."""
    plugins: tuple[str, ...] = ()
    """Folders of plug-ins that the agent's CLI loads."""
    requests: int | None = None
    """Most requests to the model within one turn, where the CLI can limit them."""
    agent_settings: Mapping[str, Any] = field(default_factory=dict)
    """For the driver alone."""

    def __post_init__(self) -> None:
        for name in ("parallel", "planning_turns", "coding_turns", "check_seconds", "max_seconds", "usd", "tokens"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value:g}, but must be more than 0.", hint="Leave it out for the default.")

    @property
    def budget(self) -> dict[str, Any]:
        """What the spending governor reads from the build's row."""
        return {"usd": self.usd, "tokens": self.tokens, "runs_per_day": self.runs_per_day}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> BuildSettings:
        known = {each.name for each in fields(cls)}
        values = {name: each for name, each in value.items() if name in known}
        if "validation" in values:
            values["validation"] = Level(values["validation"])
        values |= {name: tuple(values[name]) for name in ("flags", "environment", "plugins") if name in values}
        return cls(**values)
