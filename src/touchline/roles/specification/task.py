"""What is a task? One piece of work on one file with its own check: planned by the specification, done by the build."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from touchline.errors import InputError

PHASES = ("database", "types", "queries", "services", "api", "ui", "tests")
"""The order that breaks ties between tasks that do not depend on each other; an unknown phase comes last."""
TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""What a task may be called: its id is a part of folder names, of commit messages and of the database's keys."""
TaskStatus = Literal["pending", "in_progress", "complete", "failed", "blocked", "skipped"]
STATUSES: tuple[TaskStatus, ...] = get_args(TaskStatus)


class TaskAction(StrEnum):
    """What is done to the task's file."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    ADD = "ADD"
    DELETE = "DELETE"
    VERIFY = "VERIFY"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheck:
    """How a task proves itself: a command that must exit with 0, and text its output must contain besides."""

    command: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a specification."""

    id: str
    phase: str
    action: TaskAction
    file: str
    """Relative to the repository, with forward slashes; empty only for a VERIFY task over the whole."""
    title: str = ""
    status: TaskStatus = "pending"
    requirements: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    check: TaskCheck = TaskCheck()
    code_template: str = ""
    depends_on: tuple[str, ...] = ()
    satisfies: tuple[str, ...] = ()
    """Ids of the requirements in the spec that this task fulfils."""
    critical: bool = False
    """Its failure stops the build, as that of a database task does."""
    priority: int = 0
    """Higher goes first among tasks that could both run."""
    line: int = 0
    """Where its block begins in tasks.md; 0 when it was never read from there."""

    @property
    def stops_build(self) -> bool:
        return self.critical or self.phase == "database"


def repository_path(path: str) -> str:
    """A task's file as a clean path inside the repository. InputError for one that leaves it."""
    parts = path.replace("\\", "/").split("/")
    absolute = path.startswith(("/", "~", "\\")) or (len(path) > 1 and path[1] == ":")
    if absolute or ".." in parts or "\0" in path or any(part.lower() == ".git" for part in parts):
        raise InputError(
            f"The file {path!r} is not inside the repository.",
            hint="Give a path relative to the repository's root, such as src/app.py.",
        )
    return "/".join(part for part in parts if part not in ("", "."))
