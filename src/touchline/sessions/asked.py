"""What was asked of a session? One frozen value, kept with the session as JSON; nothing here looks at the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, get_args

from touchline.agents.port import Level
from touchline.agents.prompts import with_skill
from touchline.errors import InputError
from touchline.sessions.contracts import contract_of
from touchline.supervision.budgets import Budget
from touchline.supervision.limits import LIMITS
from touchline.supervision.phases import Phase, phase_of, phases

CHECK_SECONDS = 900.0
TURN_SECONDS = 3600.0
SILENCE_SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A task, and how it is to be worked on."""

    task: str
    """What the agent is to do, in the person's words."""
    repository: str = ""
    """The folder of the person's repository; the agent works in a clone of it."""
    agent: str | None = None
    """The driver's name; None takes the first CLI that is installed."""
    model: str | None = None
    """For the CLI; None leaves the choice to it."""
    check: str | None = None
    """A command that Touchline runs itself, in the sandbox, whenever the agent says that it is done."""
    check_seconds: float = CHECK_SECONDS
    """How long the check may take; longer is no pass."""
    plan: str | None = None
    """Path of the plan: absolute, or from the repository's root."""
    planned: str = ""
    """The words of the plan, where the task tells them already: for who judges the work."""
    phase: str | None = None
    """The workflow's phase, unless a trigger in the task names another."""
    contract: Mapping[str, Any] | None = None
    """What the agent's last message must hold; see `contracts`."""
    usd: float | None = None
    """Most money to be spent; None is no limit, here and in the next three."""
    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    """Working time, without the time spent waiting for a person."""
    failures: int | None = LIMITS.consecutive_failures
    """Failed attempts in a row that are tried again."""
    turn_seconds: float = TURN_SECONDS
    """The longest that one turn may take."""
    silence_seconds: float = SILENCE_SECONDS
    """How long the agent may write nothing at all before that is told. It ends nothing."""
    read_only: bool = False
    """The agent may look, and change nothing: planning."""
    sandbox: Level | None = None
    """The confinement that is wanted; None takes the best there is, never none."""
    reviewer: str | None = None
    """Name of a registered reviewer; None asks nobody."""
    reviewer_model: str | None = None
    """The line of the model that reviews; None takes the configured one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For the driver alone, such as a base URL or a script."""
    folders: tuple[str, ...] = ()
    """More folders that the agent may use."""
    environment: tuple[str, ...] = ()
    """Names of variables that the agent gets besides the allowed ones; never their values."""
    flags: tuple[str, ...] = ()
    """More arguments for the CLI."""
    plugins: tuple[str, ...] = ()
    """Folders of plug-ins that the CLI loads."""
    requests: int | None = None
    """Most requests to the model within one turn, where the CLI can limit them."""
    skill: str | None = None
    """One of the CLI's own skills, called with the task (`/name` before it)."""
    channel: str = "terminal"
    """How the result is delivered."""
    destination: str = ""
    """Where to, as the channel understands it."""
    task_id: str | None = None
    """The task of a build that this session works on."""

    def __post_init__(self) -> None:
        if not self.task.strip():
            raise InputError("There is no task.", hint="Say in one sentence what the agent is to do.")
        if self.phase is not None and self.phase not in phases():
            raise InputError(f"The phase {self.phase!r} is not known.", hint=f"Known: {', '.join(phases())}.")
        if self.sandbox is not None and self.sandbox not in get_args(Level):
            raise InputError(
                f"The sandbox {self.sandbox!r} is not known.", hint=f"Known: {', '.join(get_args(Level))}."
            )
        for name in ("usd", "turns", "tokens", "seconds", "check_seconds", "turn_seconds", "silence_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} is {value:g}, but must be more than 0.", hint="Leave it out for no limit.")
        if self.check is not None and not self.check.strip():
            raise InputError("The check is empty.", hint="Name a command, or leave it out.")
        contract_of(self.contract)
        with_skill("", self.skill)

    @property
    def budget(self) -> Budget:
        return Budget(turns=self.turns, tokens=self.tokens, usd=self.usd, seconds=self.seconds, failures=self.failures)

    @property
    def in_phase(self) -> Phase | None:
        """The phase, as far as it can be met: the agent's clone has no remote, so no pull request comes out of it."""
        found = phase_of(self.task, self.phase)
        return None if found is None else found.without("pull_request")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; what is at its default is left out."""
        values = asdict(self)
        for each in fields(self):
            if each.name != "task" and values[each.name] in (None, (), {}, each.default):
                del values[each.name]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Asked:
        """What `to_json` wrote. InputError for a field nobody knows: it would be ignored in silence."""
        known = {each.name for each in fields(cls)}
        if unknown := sorted(set(value) - known):
            raise InputError(f"A session cannot be asked for {', '.join(unknown)}.", hint=f"Known: {sorted(known)}.")
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}
        return cls(**values)
