"""Which settings are there? One class per section of a settings file, one field per key, its meaning on the line below.

`GUARDED` marks what a project's file may not decide by itself: what is run, with which rights, and who gets to see it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from touchline.supervision.limits import BOUNDS, Limits

GUARDED = "guarded"
"""In a project's file this counts only after the user has trusted it."""
LOWERS = "lowers"
"""Money and the like: a project's file can lower what the user's own file allows, and not raise it."""


class Over(NamedTuple):
    """The number must be more than this."""

    than: float


class Within(NamedTuple):
    """The number must not be less or more than these."""

    least: int
    most: int


class Variable(NamedTuple):
    """The environment variable's name, where it is not made from the key."""

    name: str


Sandbox = Literal["auto", "bubblewrap", "own", "none"]
Thoroughness = Literal["quick", "standard", "thorough", "comprehensive", "release"]
Command = Annotated[str, GUARDED]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSection:
    """Where everything is remembered."""

    url: Annotated[str, GUARDED] = ""
    """A SQLite file's path or postgresql://user@host/name; empty takes the project's or the user's own folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSection:
    """A supervised run."""

    agent: str = ""
    """The agent: claude, codex, opencode, gemini or a plug-in's name; empty takes the first that is installed."""
    model: str = ""
    """The model for the agent's CLI; empty leaves the choice to it."""
    sandbox: Annotated[Sandbox, GUARDED] = "auto"
    """How the agent is confined; auto takes the best there is and never none."""
    check: Command = ""
    """A command that Touchline runs itself whenever the agent says that it is done."""
    check_seconds: Annotated[float, Over(0)] = 900.0
    """How long that command may take; longer is no pass."""
    turn_seconds: Annotated[float, Over(0)] = 3600.0
    """The longest that one turn may take."""
    silence_seconds: Annotated[float, Over(0)] = 900.0
    """How long the agent may write nothing at all before that is told. It ends nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSection:
    """What a run may spend. A limit that is not set does not hold. A project's file can lower yours, not raise it."""

    usd: Annotated[float | None, Over(0), LOWERS] = None
    """Most money, in US dollars."""
    turns: Annotated[int | None, Over(0), LOWERS] = None
    """Most turns of the agent."""
    tokens: Annotated[int | None, Over(0), LOWERS] = None
    """Most tokens, read and written together."""
    seconds: Annotated[float | None, Over(0), LOWERS] = None
    """Most working time, without the time spent waiting for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSection:
    """The model that answers questions of judgement."""

    model: Annotated[str, GUARDED, Variable("TOUCHLINE_MODEL")] = ""
    """Such as cli:claude, anthropic:NAME, openai:NAME or http://host/v1#NAME; empty asks no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSection:
    """One agent's CLI, by its name: [agents.claude]."""

    flags: Annotated[tuple[str, ...], GUARDED] = ()
    """More arguments for the CLI."""
    environment: Annotated[tuple[str, ...], GUARDED] = ()
    """Names of variables that the agent gets besides the usual ones; never their values."""
    plugins: Annotated[tuple[str, ...], GUARDED] = ()
    """Folders of plug-ins that the CLI loads, where it has such (Claude Code)."""
    requests: Annotated[int | None, Over(0)] = None
    """Most requests to the model within one turn, where the CLI can limit them (Claude Code)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSection:
    """A build: many tasks from one spec."""

    parallel: Annotated[int, Over(0)] = 2
    """Tasks that run at a time."""
    plan: bool = True
    """Whether each task is planned, read-only, before it is built."""
    max_failed: Annotated[int, Over(-1)] = 3
    """With more failed tasks than this the build ends."""
    max_seconds: Annotated[float, Over(0)] = 7200.0
    """With more working time than this the build ends."""
    validation: Thoroughness = "standard"
    """How thoroughly the whole is validated at the end."""
    check_seconds: Annotated[float, Over(0)] = 300.0
    """How long one task's check may take."""
    may_install: Annotated[bool, GUARDED] = False
    """Whether a package that an error names as missing may be installed in the task's clone."""
    usd: Annotated[float | None, Over(0), LOWERS] = None
    """Most money for the whole build, in US dollars."""
    tokens: Annotated[int | None, Over(0), LOWERS] = None
    """Most tokens for the whole build."""
    runs_per_day: Annotated[int | None, Over(0), LOWERS] = None
    """Most runs of agents within a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksSection:
    """The repository's own commands by kind of check; empty leaves it to what is found in its files."""

    syntax: Command = ""
    """Does it parse?"""
    types: Command = ""
    """Do the types fit?"""
    lint: Command = ""
    """Is the style kept?"""
    unit: Command = ""
    """Do the tests pass?"""
    build: Command = ""
    """Can it be built?"""
    integration: Command = ""
    """Do the parts work together?"""
    performance: Command = ""
    """Is it fast enough?"""
    security: Command = ""
    """Is anything known to be unsafe?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksSection:
    """The coach in interactive sessions."""

    cap: Annotated[int | None, Within(*BOUNDS["continue_cap"])] = None
    """How often a stop is sent back before the person sees it; 0 never sends back. Not set: limits.continue_cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSection:
    """The log files in the state folder."""

    bytes: Annotated[int, Over(9_999)] = 1_000_000
    """A file that has grown beyond this is turned over."""
    files: Annotated[int, Over(0)] = 3
    """Older files that are kept."""


AGENTS = "agents"
SECTIONS: dict[str, type] = {
    "database": DatabaseSection,
    "run": RunSection,
    "budget": BudgetSection,
    "judge": JudgeSection,
    AGENTS: AgentSection,
    "build": BuildSection,
    "checks": ChecksSection,
    "hooks": HooksSection,
    "log": LogSection,
    "limits": Limits,
}
"""By the name that they have in a file. Of `agents` there is one for each agent."""
