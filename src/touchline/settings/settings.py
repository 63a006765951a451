"""All that a person chose, in one value; and what of it a run or a build takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from touchline.settings.sections import (
    AgentSection,
    BudgetSection,
    BuildSection,
    ChecksSection,
    DatabaseSection,
    HooksSection,
    JudgeSection,
    LogSection,
    RunSection,
)
from touchline.supervision.limits import LIMITS, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What holds, section by section."""

    database: DatabaseSection = field(default_factory=DatabaseSection)
    run: RunSection = field(default_factory=RunSection)
    budget: BudgetSection = field(default_factory=BudgetSection)
    judge: JudgeSection = field(default_factory=JudgeSection)
    agents: Mapping[str, AgentSection] = field(default_factory=dict)
    """By the agent's name; only those of which something was said."""
    build: BuildSection = field(default_factory=BuildSection)
    checks: ChecksSection = field(default_factory=ChecksSection)
    hooks: HooksSection = field(default_factory=HooksSection)
    log: LogSection = field(default_factory=LogSection)
    thresholds: Limits = LIMITS
    """The section [limits]."""
    notice: str = ""
    """What must be told to the person: settings of the project that are not used. Empty when there is nothing."""

    def limits(self) -> Limits:
        """The numbers of the rules."""
        return self.thresholds

    def value(self, name: str) -> Any:
        """The value of a setting by its name, such as `run.agent` or `agents.claude.flags`."""
        section, _, rest = name.partition(".")
        if section == "agents":
            agent, _, short = rest.rpartition(".")
            return getattr(self.agents.get(agent, AgentSection()), short)
        return getattr(self.thresholds if section == "limits" else getattr(self, section), rest)

    def for_run(self, agent: str | None = None) -> dict[str, Any]:
        """What `sessions.asked.Asked` takes by keyword. Flags and variables are those of `agent`, else of `run.agent`:
        a door that lets the first installed one be taken names it here."""
        name = agent or self.run.agent
        own = self.agents.get(name, AgentSection())
        return {
            "agent": name or None,
            "model": self.run.model or None,
            "sandbox": None if self.run.sandbox == "auto" else self.run.sandbox,
            "check": self.run.check or None,
            "check_seconds": self.run.check_seconds,
            "turn_seconds": self.run.turn_seconds,
            "silence_seconds": self.run.silence_seconds,
            "usd": self.budget.usd,
            "turns": self.budget.turns,
            "tokens": self.budget.tokens,
            "seconds": self.budget.seconds,
            "failures": self.thresholds.consecutive_failures,
            "flags": own.flags,
            "environment": own.environment,
            "plugins": own.plugins,
            "requests": own.requests,
        }

    def for_build(self, agent: str | None = None) -> dict[str, Any]:
        """What `roles.build.settings.BuildSettings` takes by keyword; `validation` is the level's name. Flags,
        variables, plug-ins and requests are those of `agent`, as in `for_run`."""
        build, checks = self.build, self.checks
        run = self.for_run(agent)
        commands = {name: getattr(checks, name) for name in type(checks).__dataclass_fields__}
        return {
            **{name: run[name] for name in ("agent", "model", "sandbox", "turn_seconds", "silence_seconds")},
            **{name: run[name] for name in ("flags", "environment", "plugins", "requests")},
            "judge": self.judge.model,
            "parallel": build.parallel,
            "plan": build.plan,
            "planning_turns": self.thresholds.planning_turns,
            "coding_turns": self.thresholds.coding_turns,
            "max_failed": build.max_failed,
            "max_seconds": build.max_seconds,
            "validation": build.validation,
            "commands": {kind: command for kind, command in commands.items() if command},
            "check_seconds": build.check_seconds,
            "may_install": build.may_install,
            "usd": build.usd,
            "tokens": build.tokens,
            "runs_per_day": build.runs_per_day,
        }
