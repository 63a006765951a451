"""How does a brief become spec.md and tasks.md? Two questions to a model; numbers, order, pitfalls, checks are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from touchline.errors import SpecError
from touchline.models.asking import Answer, Asker
from touchline.models.questions import FileDraft, PlanTasks, SpecDraft, TaskDraft, WriteRequirements
from touchline.roles.specification.checking import Finding, check_spec
from touchline.roles.specification.context import SpecContext, in_words
from touchline.roles.specification.gotchas import gotchas_for
from touchline.roles.specification.migration_numbers import renumbered
from touchline.roles.specification.order import ordered
from touchline.roles.specification.spec import PlannedFile, Requirement, Spec
from touchline.roles.specification.spec_file import write_spec
from touchline.roles.specification.task import Task, TaskAction, TaskCheck, repository_path
from touchline.roles.specification.tasks_file import TasksFile, read_tasks, with_sections_of, write_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A specification with its tasks, not yet approved by anybody."""

    spec: Spec
    tasks: tuple[Task, ...]
    findings: tuple[Finding, ...]
    answers: tuple[tuple[str, Answer[Any]], ...]
    """What the model was asked and what it cost, for the books."""


def draft_spec(
    context: SpecContext,
    asker: Asker,
    *,
    id: str,
    owners: Mapping[str, str],
    allocate: Callable[[str, int], int],
    revision: str = "",
    before: Spec | None = None,
    version: int = 1,
    idea: str = "",
) -> Draft:
    """Ask for requirements and tasks, and put them together. `owners` says whose a file is; see `migration_numbers` for
    `allocate`. With a `revision`, `before` is what is revised. Raises `ModelError` or `SpecError`; writes nothing."""
    codebase = in_words(context.codebase)
    gotchas = tuple(g.text for g in context.gotchas)
    first = asker.ask(
        WriteRequirements(
            brief=context.brief,
            documents="\n\n".join(f"{name}:\n{text.strip()}" for name, text in context.documents.items()),
            codebase=codebase,
            conventions=context.conventions,
            gotchas=gotchas,
            revision=revision,
        )
    )
    spec = _spec(first.value, context, id=id, version=version, idea=idea, owners=owners)
    if before is not None:
        spec = replace(spec, gotchas=_union(before.gotchas, spec.gotchas))  # people add theirs to the lessons'
    # A migration that has its number keeps it.
    numbered = {each.path for each in before.new_files} if before is not None else set()
    unnumbered = (each.path for each in spec.new_files if each.path not in numbered)
    names = renumbered(unnumbered, context.repository, allocate=allocate)
    spec = replace(spec, new_files=tuple(replace(f, path=names.get(f.path, f.path)) for f in spec.new_files))
    second = asker.ask(
        PlanTasks(
            objective=spec.objective,
            requirements=tuple(
                f"{r.id} ({r.priority}): {r.text} Accepted when: {r.acceptance}" for r in spec.requirements
            ),
            files=tuple(f"{f.path}: {f.purpose}" for f in (*spec.new_files, *spec.modified_files)),
            codebase=codebase,
            commands=tuple(f"{check.kind}: {check.command}" for check in context.codebase.checks),
            gotchas=gotchas,
            revision=revision,
        )
    )
    tasks = tuple(_task(each, names) for each in second.value.tasks)
    tasks = tuple(replace(t, gotchas=tuple(g.text for g in gotchas_for(t, context.gotchas))) for t in tasks)
    tasks = ordered(tasks)
    return Draft(
        spec=spec,
        tasks=tasks,
        findings=check_spec(spec, tasks),
        answers=(("write_requirements", first), ("plan_tasks", second)),
    )


def write_files(folder: Path, spec: Spec, tasks: tuple[Task, ...]) -> tuple[Path, Path]:
    """spec.md and tasks.md in a folder. What people or a build wrote into earlier ones beside our parts is kept, and so
    is what they said of a task that is still there."""
    folder.mkdir(parents=True, exist_ok=True)
    spec_path, tasks_path = folder / "spec.md", folder / "tasks.md"
    before = spec_path.read_text(encoding="utf-8") if spec_path.exists() else ""
    head = {"spec": spec.id, "version": spec.version}
    earlier = tasks_path.read_text(encoding="utf-8") if tasks_path.exists() else ""
    fresh = write_tasks(TasksFile(title=f"Tasks: {spec.title}", tasks=_carried_over(tasks, earlier), head=head))
    texts = {
        spec_path: write_spec(spec, before=before, file=str(spec_path)),
        tasks_path: with_sections_of(fresh, earlier) if earlier else fresh,
    }
    for path, text in texts.items():
        write_whole(path, text)
    return spec_path, tasks_path


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step: a reader sees the old text or the new, never a part. Its line ends stay its own."""
    part = path.with_name(path.name + ".part")
    crlf = path.exists() and b"\r\n" in path.read_bytes()
    part.write_text(text, encoding="utf-8", newline="\r\n" if crlf else "\n")
    part.replace(path)


def _carried_over(tasks: tuple[Task, ...], earlier: str) -> tuple[Task, ...]:
    """A task of the same id on the same file is the same task: what is done stays done, and what only people say of a
    task (that it is critical, its priority, pitfalls of their own) stays said."""
    try:
        known = {(task.id, task.file): task for task in read_tasks(earlier).tasks} if earlier else {}
    except SpecError:
        known = {}  # it was broken by hand; the revision mends it
    return tuple(_with(task, known.get((task.id, task.file))) for task in tasks)


def _with(task: Task, before: Task | None) -> Task:
    if before is None:
        return task
    gotchas = _union(before.gotchas, task.gotchas)
    return replace(task, status=before.status, critical=before.critical, priority=before.priority, gotchas=gotchas)


def _union(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    """Both, no text twice."""
    found: dict[str, str] = {}
    for text in (*first, *second):
        found.setdefault(" ".join(text.split()).casefold(), text)
    return tuple(found.values())


def _spec(
    draft: SpecDraft, context: SpecContext, *, id: str, version: int, idea: str, owners: Mapping[str, str]
) -> Spec:
    requirements = tuple(
        Requirement(
            id=f"FR-{number:03d}",
            text=each.text,
            priority=each.priority,
            acceptance=each.acceptance,
            source=each.source or context.names[0],
        )
        for number, each in enumerate(draft.requirements, start=1)
    )
    return Spec(
        id=id,
        title=draft.title.strip() or "Untitled",
        version=version,
        status="waiting",
        idea=idea,
        repository=context.repository.name,
        context=context.names,
        objective=draft.objective,
        success_criteria=draft.success_criteria,
        out_of_scope=draft.out_of_scope,
        requirements=requirements,
        quality=draft.quality,
        new_files=_files(draft.new_files, {}),
        modified_files=_files(draft.modified_files, owners),
        avoided_files=_files(draft.avoided_files, {}),
        api=draft.api,
        data_models=draft.data_models,
        dependencies=draft.dependencies,
        gotchas=tuple(g.text for g in context.gotchas),
        validation=draft.validation,
        risks=draft.risks,
    )


def _files(drafts: tuple[FileDraft, ...], owners: Mapping[str, str]) -> tuple[PlannedFile, ...]:
    return tuple(
        PlannedFile(path=(path := repository_path(each.path)), purpose=each.purpose, owner=owners.get(path, ""))
        for each in drafts
    )


def _task(draft: TaskDraft, names: Mapping[str, str]) -> Task:
    path = repository_path(draft.file)
    if not path and draft.action != "VERIFY":
        raise SpecError(f"tasks.md:0: {draft.id} names no file.", hint="Ask again: touchline spec revise")
    return Task(
        id=draft.id,
        title=draft.title,
        phase=draft.phase,
        action=TaskAction(draft.action),
        file=names.get(path, path),
        requirements=draft.requirements,
        satisfies=draft.satisfies,
        check=TaskCheck(command=draft.command, expected=draft.expected),
        code_template=draft.code_template,
        depends_on=draft.depends_on,
    )
