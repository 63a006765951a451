"""What do the commands about specifications do? They ask the role, and print what it found."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from touchline.cli.asking import may_ask
from touchline.cli.exits import Exit
from touchline.cli.person import person
from touchline.cli.place import command, opened, purpose
from touchline.cli.sheet import print_facts, print_json
from touchline.cli.terminal import say
from touchline.errors import InputError, SpecError
from touchline.models.asking import Asker
from touchline.models.opening import asker_for
from touchline.roles.specification.checking import Finding, check_spec
from touchline.roles.specification.keeping import SpecRow, approve, find_spec, read_files
from touchline.roles.specification.making import Made, make_spec, revise_spec
from touchline.roles.specification.spec import Spec
from touchline.roles.specification.task import Task
from touchline.store.database import Database
from touchline.store.place import Place


def write_new(
    place: Place, source: Path, *, repository: Path | None, folder: Path | None, model: str, as_json: bool
) -> None:
    from touchline.store.migrate import open_database

    root = repository_root(repository)
    if not source.exists():
        raise SpecError(f"{source}: there is no such file or folder.", hint="Give a brief, or an idea's folder.")
    # Read before the model is asked for: a brief that cannot be used needs none.
    from touchline.roles.specification.context import load_context

    load_context(source, root)
    asker = _asker(model)
    with open_database(place.url, purpose=purpose()) as database:
        made = make_spec(database, asker, source, repository=root, folder=folder)
    _print_made(made, as_json)


def revise(place: Place, words: Sequence[str], *, repository: Path | None, model: str, as_json: bool) -> None:
    if len(words) > 2:
        raise InputError(f"{len(words)} words were given.", hint='Put what to change into quotes: "no database".')
    given, what = ("", words[0]) if len(words) == 1 else (words[0], words[1])
    with opened(place) as database:
        row = _found(database, given)
        if not what.strip():
            raise SpecError(f"{row.id}: say what to change.", hint=command(f"spec revise {row.id} 'what to change'"))
        root = repository_root(repository or row.path.parent)
        made = revise_spec(database, _asker(model), row, what, repository=root, by=person())
    _print_made(made, as_json)


def show_spec(place: Place, given: str, *, as_json: bool) -> None:
    with opened(place) as database:
        row = _found(database, given)
    spec, tasks = read_files(row)
    findings = check_spec(spec, tasks)
    if as_json:
        print_json("touchline.spec/1", _as_json(row, spec, tasks, findings))
        return
    print_facts(
        {
            "specification": f"{spec.title} ({row.id}, version {row.version})",
            "status": row.status + (f" by {row.approved_by}" if row.status == "approved" and row.approved_by else ""),
            "objective": spec.objective,
            "success": "\n".join(f"- {each}" for each in spec.success_criteria),
            "requirements": "\n".join(f"{r.id} ({r.priority}): {r.text}" for r in spec.requirements),
            "new files": "\n".join(f"{f.path}: {f.purpose}" for f in spec.new_files),
            "modified files": "\n".join(
                f"{f.path}{f' (owner: {f.owner})' if f.owner else ''}: {f.purpose}" for f in spec.modified_files
            ),
            "out of scope": "\n".join(f"- {each}" for each in spec.out_of_scope),
            "tasks": f"{len(tasks)}; see: {command(f'tasks graph {row.id}')}",
            "files": f"{row.path}\n{row.tasks_path}",
        }
    )
    _print_findings(findings)


def edit_spec(place: Place, given: str, *, as_json: bool) -> None:
    with opened(place) as database:
        row = _found(database, given)
    if as_json or not (may_ask() and sys.stdout.isatty()):
        if as_json:
            print_json("touchline.spec/1", {"id": row.id, "path": str(row.path), "tasks_path": str(row.tasks_path)})
        else:
            print(f"{row.path}\n{row.tasks_path}")
    else:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        done = subprocess.run([*shlex.split(command), str(row.path), str(row.tasks_path)], check=False)  # noqa: S603
        if done.returncode != 0:
            raise InputError(f"{command} ended with {done.returncode}.", hint="Set EDITOR to another editor.")
    findings = check_spec(*read_files(row))
    if not as_json:
        _print_findings(findings)
    raise typer.Exit(_code(findings))


def approve_spec(place: Place, given: str, *, yes: bool, as_json: bool) -> None:
    with opened(place) as database:
        row = _found(database, given)
        spec, tasks = read_files(row)
        if not yes:
            _ask(row, spec, tasks, as_json=as_json)
        with database.writing() as connection:
            findings = approve(connection, row, by=person())
            row = find_spec(connection, row.id)
    if as_json:
        print_json("touchline.spec/1", _as_json(row, *read_files(row), findings))
        return
    _print_findings(findings)
    say(f"Approved: {spec.title}. Build it with: {command(f'build start {row.id}')}")


def repository_root(given: Path | None) -> Path:
    """The top of the repository that is meant."""
    from touchline.agents.workspaces.repository import find_repository

    return find_repository(given or Path.cwd(), os.environ).root


def _asker(model: str) -> Asker:
    from touchline.settings.loading import settings_for

    settings = settings_for({"judge.model": model or None}, os.environ, Path.cwd(), Path.home())
    return asker_for(settings.judge.model, seconds=600)


def _found(database: Database, given: str) -> SpecRow:
    with database.reading() as connection:
        return find_spec(connection, given)


def _ask(row: SpecRow, spec: Spec, tasks: Sequence[Task], *, as_json: bool) -> None:
    if as_json or not may_ask():
        raise InputError(
            "Nobody is there to be asked, so nothing was approved.",
            hint=f"Read it: {command(f'spec show {row.id}')}. Then: {command(f'spec approve {row.id} --yes')}",
        )
    say(f"{spec.title}: {len(spec.requirements)} requirements, {len(tasks)} tasks. {row.path}")
    if not typer.confirm("Approve it as the files stand?", default=False, err=True):
        say("Not approved.")
        raise typer.Exit(Exit.FOUND)


def _print_made(made: Made, as_json: bool) -> None:
    row, draft = made.row, made.draft
    if as_json:
        print_json("touchline.spec/1", _as_json(row, draft.spec, draft.tasks, draft.findings))
    else:
        print(f"{row.path}\n{row.tasks_path}")
        cost = sum(answer.cost_usd or 0.0 for _, answer in draft.answers)
        tokens = sum(answer.usage.total for _, answer in draft.answers)
        say(f"{draft.spec.title}: {len(draft.spec.requirements)} requirements, {len(draft.tasks)} tasks.")
        say(f"Asking the model took {tokens:,} tokens" + (f" and {cost:.4f} USD." if cost else "."))
        _print_findings(draft.findings)
        say(f"Read it, then: {command(f'spec approve {row.id}')}")
    raise typer.Exit(_code(draft.findings))


def _code(findings: Sequence[Finding]) -> int:
    return Exit.FOUND if any(each.grade == "error" for each in findings) else Exit.DONE


def _print_findings(findings: Sequence[Finding]) -> None:
    for each in findings:
        say(f"{each.grade}: {each.where}: {each.text}")


def _as_json(row: SpecRow, spec: Spec, tasks: Sequence[Task], findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": spec.title,
        "status": row.status,
        "version": row.version,
        "approved_by": row.approved_by,
        "path": str(row.path),
        "tasks_path": str(row.tasks_path),
        "objective": spec.objective,
        "success_criteria": list(spec.success_criteria),
        "requirements": [
            {"id": r.id, "text": r.text, "priority": r.priority, "acceptance": r.acceptance, "source": r.source}
            for r in spec.requirements
        ],
        "new_files": [{"path": f.path, "purpose": f.purpose} for f in spec.new_files],
        "modified_files": [
            {"path": f.path, "purpose": f.purpose, "owner": f.owner or None} for f in spec.modified_files
        ],
        "tasks": [task.id for task in tasks],
        "findings": [{"grade": f.grade, "where": f.where, "text": f.text} for f in findings],
        "ready": not any(f.grade == "error" for f in findings),
    }
