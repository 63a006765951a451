"""What did earlier builds of a specification finish that the repository does not have? A new build begins with the
repository's newest commit, so what is complete in tasks.md alone would be missing from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import sqlalchemy as sa

from touchline.agents.workspaces.repository import Repository, find_repository
from touchline.errors import BuildError, InputError, SpecError
from touchline.roles.build.rows import BuildRow, TaskRow, list_builds, tasks_of
from touchline.roles.build.workshop import Workshop
from touchline.roles.specification.keeping import SpecRow
from touchline.roles.specification.task import Task
from touchline.roles.specification.tasks_file import with_status
from touchline.roles.specification.writing import write_whole

Finished = Literal["", "anew", "there"]
"""What becomes of a task that an earlier build finished and the repository does not have: it is begun anew, or it is
there in a form that cannot be seen, such as a commit that was rewritten. Empty when nobody has said."""
_MANY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Finished tasks that are only in the repository of the build that finished them."""

    build: BuildRow
    tasks: tuple[str, ...]


def planned_now(
    planned: Sequence[Task], elsewhere: Sequence[Elsewhere], finished: Finished, spec: SpecRow
) -> tuple[Task, ...]:
    """The tasks as a new build takes them. BuildError where a person must say what to do with finished work, and where
    nothing is left to be done."""
    if finished not in get_args(Finished):
        raise InputError(f"--finished: {finished!r} is not known.", hint="Known: anew, there.")
    if elsewhere and not finished:
        raise _refused(elsewhere[0])
    anew = {id for each in elsewhere for id in each.tasks} if finished == "anew" else set[str]()
    tasks = tuple(replace(task, status="pending") if task.id in anew else task for task in planned)
    if all(task.status == "complete" for task in tasks):
        raise BuildError(
            f"Every task of the specification {spec.id} is complete, so there is nothing to build.",
            hint="Set what is to be done again to pending in tasks.md, or ask for a change:",
            then=f"spec revise {spec.id} 'what to change'",
        )
    return tasks


def note_anew(path: Path, planned: Sequence[Task], now: Sequence[Task]) -> None:
    """tasks.md says so, too. A file that people broke meanwhile is theirs to mend: the rows count."""
    begun = [task.id for before, task in zip(planned, now, strict=True) if before.status != task.status]
    if not begun:
        return
    try:
        text = path.read_text(encoding="utf-8")
        for id in begun:
            text = with_status(text, id, "pending", file=str(path))
        write_whole(path, text)
    except (OSError, UnicodeDecodeError, SpecError):
        return


def finished_elsewhere(
    connection: sa.Connection, spec: str, planned: Sequence[Task], repository: Path, env: Mapping[str, str]
) -> tuple[Elsewhere, ...]:
    """Complete tasks whose work the repository's newest commit does not have, by the build that has it."""
    open_ones = {task.id for task in planned if task.status == "complete"}
    found: list[Elsewhere] = []
    for build in list_builds(connection, limit=_MANY):
        if not open_ones or build.spec_id != spec:
            continue
        done = [row for row in tasks_of(connection, build.id) if row.task.id in open_ones and _finished(row)]
        open_ones -= {row.task.id for row in done}
        if done and (missing := _missing(build, done, find_repository(repository, env))):
            found.append(Elsewhere(build=build, tasks=missing))
    return tuple(found)


def _finished(row: TaskRow) -> bool:
    """Whether that very build finished it: one that was complete before it began has no attempt."""
    return row.task.status == "complete" and row.attempts > 0


def _missing(build: BuildRow, done: Sequence[TaskRow], repository: Repository) -> tuple[str, ...]:
    commits = {row.task.id: row.data.get("commit") for row in done}
    last = next((commit for commit in reversed(commits.values()) if commit), None)
    if last is None or _has_changes(build, repository):
        return ()
    missing = {id for id, commit in commits.items() if commit and not _has_commit(repository, commit)}
    # What needed no commit, such as a VERIFY task, was seen on top of the others.
    return tuple(id for id, commit in commits.items() if id in missing or (missing and not commit))


def _has_commit(repository: Repository, commit: str) -> bool:
    return repository.git.run("merge-base", "--is-ancestor", commit, "HEAD", codes=(0, 1, 128)).code == 0


def _has_changes(build: BuildRow, repository: Repository) -> bool:
    """Whether merging the build's branch would change nothing: so it is also after a squash or a cherry-pick. Looked up
    in the build's own repository, which borrows the person's objects for it; his is only read."""
    head = repository.commit("HEAD")
    if head is None or not build.workshop or not Path(build.workshop).is_dir():
        return False
    shop = Workshop(path=Path(build.workshop), env={})
    quoted = str(repository.objects).replace("\\", "\\\\").replace('"', '\\"')
    git = shop.git.adding(GIT_ALTERNATE_OBJECT_DIRECTORIES=f'"{quoted}"')
    merged = git.run("merge-tree", "--write-tree", "--no-messages", head, shop.head(), codes=(0, 1, 128))
    return merged.code == 0 and merged.text == git.run("rev-parse", f"{head}^{{tree}}").text


def _refused(found: Elsewhere) -> BuildError:
    build, names = found.build, ", ".join(found.tasks)
    go_on = "" if build.status == "complete" else f", go on with it (touchline build resume {build.id})"
    return BuildError(
        f"The build {build.id} has finished {names}, and your branch does not have that work.",
        hint=f"Bring it into your branch first (touchline apply {build.id}){go_on}, or say what to do with those "
        "tasks: --finished there takes them as done, and this does them again:",
        then=f"build start {build.spec_id} --finished anew",
    )
