"""How do tasks and their graph read in a terminal?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from touchline.audit.visible import visible
from touchline.cli.place import opened
from touchline.cli.sheet import print_facts, print_json
from touchline.errors import InputError, SpecError
from touchline.roles.specification.keeping import SpecRow, find_spec
from touchline.roles.specification.order import levels
from touchline.roles.specification.task import Task
from touchline.roles.specification.tasks_file import read_tasks
from touchline.store.place import Place

_MARKS = {"complete": "x", "in_progress": ">", "failed": "!", "blocked": "?", "skipped": "-", "pending": " "}


def print_list(place: Place, given: str, *, as_json: bool) -> None:
    row, tasks = _tasks(place, given)
    if as_json:
        print_json("touchline.tasks/1", {"spec": row.id, "tasks": [_as_json(task) for task in tasks]})
        return
    for task in tasks:
        print(visible(_line(task)))


def print_one(place: Place, given: str, id: str, *, as_json: bool) -> None:
    row, tasks = _tasks(place, given)
    task = next((each for each in tasks if each.id == id), None)
    if task is None:
        raise InputError(
            f"{row.tasks_path}: there is no task {id!r}.", hint=f"There are: {', '.join(t.id for t in tasks)}."
        )
    waiting = [each.id for each in tasks if id in each.depends_on]
    if as_json:
        print_json("touchline.task/1", {"spec": row.id, **_as_json(task), "waited_for_by": waiting})
        return
    check = task.check.command + (f"\nand its output holds: {task.check.expected}" if task.check.expected else "")
    print_facts(
        {
            "task": f"{task.id}: {task.title or task.file}",
            "status": task.status,
            "does": f"{task.action} {task.file}".strip(),
            "phase": task.phase + (", critical" if task.stops_build else ""),
            "requires": "\n".join(f"- {each}" for each in task.requirements),
            "fulfils": ", ".join(task.satisfies),
            "mind": "\n".join(f"- {each}" for each in task.gotchas),
            "check": check,
            "waits for": ", ".join(task.depends_on),
            "waited for by": ", ".join(waiting),
            "template": task.code_template,
            "in": f"{row.tasks_path}:{task.line}",
        }
    )


def print_graph(place: Place, given: str, *, dot: bool, as_json: bool) -> None:
    row, tasks = _tasks(place, given)
    if as_json and dot:
        raise InputError("Give either --json or --dot.", hint="Both say the same.")
    waves = levels(tasks)
    if as_json:
        value = {"waves": [[t.id for t in wave] for wave in waves], "tasks": [_as_json(t) for t in tasks]}
        print_json("touchline.graph/1", {"spec": row.id, **value})
    elif dot:
        print("\n".join(dot_lines(tasks)))
    else:
        print(visible("\n".join(graph_lines(waves))))


def graph_lines(waves: Sequence[Sequence[Task]]) -> Iterator[str]:
    """The waves as a tree: a wave, its tasks, and below each what it waits for."""
    for number, wave in enumerate(waves, start=1):
        side = "" if len(wave) == 1 else f", {len(wave)} side by side"
        yield f"Wave {number}{side}"
        for at, task in enumerate(wave):
            last = at == len(wave) - 1
            yield f"{'└─' if last else '├─'} {_line(task)}"
            if task.depends_on:
                yield f"{'  ' if last else '│ '}    waits for {', '.join(task.depends_on)}"


def dot_lines(tasks: Sequence[Task]) -> Iterator[str]:
    """The same for Graphviz: an arrow leads from a task to those that wait for it."""
    yield "digraph tasks {"
    yield "  rankdir=LR; node [shape=box];"
    for task in tasks:
        yield f"  {_quoted(task.id)} [label={_quoted(f'{task.id}: {task.title or task.file}')}];"
    for task in tasks:
        for other in task.depends_on:
            yield f"  {_quoted(other)} -> {_quoted(task.id)};"
    yield "}"


def _quoted(words: str) -> str:
    return '"' + visible(words).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _line(task: Task) -> str:
    what = f"{task.action} {task.file}".strip()
    return f"[{_MARKS[task.status]}] {task.id} {task.title or task.file}  ({task.phase}; {what})"


def _tasks(place: Place, given: str) -> tuple[SpecRow, tuple[Task, ...]]:
    with opened(place) as database, database.reading() as connection:
        row = find_spec(connection, given)
    try:
        text = row.tasks_path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{row.tasks_path}:1: it cannot be read: {error}.", hint="Was it moved?") from error
    return row, read_tasks(text, file=str(row.tasks_path)).tasks


def _as_json(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "phase": task.phase,
        "action": str(task.action),
        "file": task.file,
        "requirements": list(task.requirements),
        "satisfies": list(task.satisfies),
        "gotchas": list(task.gotchas),
        "command": task.check.command,
        "expected": task.check.expected,
        "depends_on": list(task.depends_on),
        "critical": task.stops_build,
        "priority": task.priority,
        "line": task.line,
    }
