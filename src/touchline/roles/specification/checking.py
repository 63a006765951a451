"""Is the specification ready for approval? Complete, consistent, a task for each requirement, a check for each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from touchline.roles.specification.spec import Spec
from touchline.roles.specification.task import Task, TaskAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong with a specification."""

    grade: Literal["error", "warning"]
    """An error stands in the way of approval; a warning does not."""
    where: str
    text: str


def check_spec(spec: Spec, tasks: Sequence[Task]) -> tuple[Finding, ...]:
    """Everything that is wrong, errors first."""
    found: list[Finding] = []

    def error(where: str, text: str) -> None:
        found.append(Finding(grade="error", where=where, text=text))

    def warning(where: str, text: str) -> None:
        found.append(Finding(grade="warning", where=where, text=text))

    if not spec.objective.strip():
        error("Objective", "It is empty: say what the build is for.")
    if not spec.success_criteria:
        error("Success Criteria", "There are none: nobody could tell whether the build succeeded.")
    if not spec.requirements:
        error("Functional requirements", "There are none.")
    known = {requirement.id for requirement in spec.requirements}
    if len(known) < len(spec.requirements):
        error("Functional requirements", "An id is used twice.")
    covered = {id for task in tasks for id in task.satisfies}
    for requirement in spec.requirements:
        if not requirement.acceptance.strip():
            error(requirement.id, "It does not say how one sees that it is fulfilled.")
        if requirement.id not in covered:
            grade = warning if requirement.priority == "could" else error
            grade(requirement.id, "No task fulfils it.")
    planned = {each.path for each in (*spec.new_files, *spec.modified_files)}
    avoided = {each.path for each in spec.avoided_files}
    for task in tasks:
        for id in task.satisfies:
            if id not in known:
                error(task.id, f"It says that it fulfils {id}, which is no requirement.")
        if not task.check.command.strip():
            error(task.id, "It has no check: give validation.command.")
        if not task.requirements and task.action is not TaskAction.VERIFY:
            error(task.id, "It does not say what is required.")
        if task.file in avoided:
            error(task.id, f"It touches {task.file}, which the specification keeps away from.")
        elif task.file and task.file not in planned and task.action is not TaskAction.VERIFY:
            warning(task.id, f"{task.file} is not among the new or modified files.")
    for each in spec.new_files:
        if not any(task.file == each.path for task in tasks):
            warning(each.path, "It is planned as a new file, and no task makes it.")
    return tuple(sorted(found, key=lambda finding: finding.grade != "error"))
