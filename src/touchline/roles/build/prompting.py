"""What is a coder told? The task with all that is known about it, cut to a budget; texts are in `prompts.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from touchline.roles.build.context_budget import Fitted, Item, fit
from touchline.roles.specification.task import Task

BUDGET = 24_000
"""Tokens of a task's prompt: what is longer is not read as a whole by any agent."""
_IDEA = 500
_TITLES: Mapping[str, str] = {
    "task": "",
    "gotchas": "Known pitfalls, each of which has cost somebody time:",
    "template": "Start from this:",
    "contract": "What holds for every task of this build, so that they fit together:",
    "conventions": "Conventions of the repository:",
    "readme": "What the product is about:",
}


def text(name: str, **values: str) -> str:
    """One of the texts, filled in."""
    return str(_texts()[name]).strip().format(**values)


def body(
    task: Task, *, contract: str = "", conventions: str = "", idea: str = "", plan: str = "", budget: int = BUDGET
) -> Fitted:
    """All that is known about a task, within the budget, the most worthy first."""
    items = [
        Item(name="task", text=_task(task, plan)),
        Item(name="gotchas", text="\n".join(f"- {each}" for each in task.gotchas)),
        Item(name="template", text=task.code_template),
        Item(name="contract", text=contract),
        Item(name="conventions", text=conventions),
        Item(name="readme", text=idea[:_IDEA]),
    ]
    return fit(items, budget)


def planning_prompt(task: Task, *, contract: str, conventions: str, idea: str, before: str = "") -> str:
    shown = _joined(body(task, contract=contract, conventions=conventions, idea=idea))
    return _with(text("planning", body=shown), before)


def coding_prompt(task: Task, *, contract: str, conventions: str, idea: str, plan: str, before: str = "") -> str:
    shown = _joined(body(task, contract=contract, conventions=conventions, idea=idea, plan=plan))
    return _with(text("coding", body=shown), before)


def _task(task: Task, plan: str) -> str:
    lines = [
        f"Task {task.id}: {task.title or task.file}",
        f"{task.action} {task.file or 'the repository as a whole'}",
        "",
    ]
    lines += ["Requirements:", *(f"- {each}" for each in task.requirements)]
    lines += ["", "The check that must pass:", f"    {task.check.command}"]
    if task.check.expected:
        lines.append(f"Its output must contain: {task.check.expected}")
    if plan:
        lines += ["", "The plan, which a reviewer has read:", plan]
    return "\n".join(lines)


def _joined(fitted: Fitted) -> str:
    parts = [f"{_TITLES[each.name]}\n{each.text}".strip() for each in fitted.included]
    if fitted.left_out:
        parts.append(f"(Left out for length: {', '.join(fitted.left_out)}.)")
    return "\n\n".join(parts)


def _with(prompt: str, before: str) -> str:
    return f"{prompt}\n\n{before}".strip() if before else prompt


@cache
def _texts() -> dict[str, object]:
    return tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
