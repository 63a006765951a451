"""What stands in tasks.md? Tasks as fenced YAML blocks that people may edit; read back with file and line.

Only the blocks are Touchline's: everything around them is kept as it is, byte for byte, when a status changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from touchline.errors import InputError, SpecError
from touchline.roles.specification.front_matter import read_yaml, split_document, write_yaml
from touchline.roles.specification.order import ordered
from touchline.roles.specification.task import (
    STATUSES,
    TASK_ID,
    Task,
    TaskAction,
    TaskCheck,
    TaskStatus,
    repository_path,
)

_FENCE = re.compile(r"^```ya?ml\s*$")
_KEYS = (
    "id", "title", "phase", "action", "file", "status", "requirements", "satisfies", "gotchas", "validation",
    "code_template", "depends_on", "critical", "priority",
)  # fmt: skip
SECTIONS = ("Execution log", "Discoveries", "Validation results", "Checklist")


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksFile:
    """A tasks.md."""

    title: str
    tasks: tuple[Task, ...]
    head: Mapping[str, Any] = field(default_factory=dict)


def read_tasks(text: str, *, file: str = "tasks.md") -> TasksFile:
    """The tasks of a document, in an order that can be done. SpecError, with file and line, for whatever is wrong."""
    document = split_document(text, file=file)
    tasks = [
        _task(read_yaml(block.text, file=file, line=block.line), file, block.line)
        for block in _blocks(document.body, document.body_line, file)
        if block.is_task
    ]
    if not tasks:
        raise SpecError(f"{file}:1: there is no task in it.", hint="A task is a ```yaml block with an id.")
    title = re.search(r"^# (.+)$", document.body, re.MULTILINE)
    return TasksFile(title=title[1].strip() if title else "", tasks=ordered(tasks, file=file), head=dict(document.head))


def write_tasks(given: TasksFile) -> str:
    """A fresh tasks.md: a section per phase, a block per task, then the sections that fill up during the build."""
    parts = ["---\n" + write_yaml(given.head) + "---\n"] if given.head else []
    parts.append(f"# {given.title}\n")
    for phase, tasks in groupby(given.tasks, key=lambda task: task.phase):
        parts.append(f"## Phase: {phase}\n")
        parts += [f"### {task.id}: {task.title or task.file}\n\n```yaml\n{_yaml(task)}```\n" for task in tasks]
    parts += [f"## {name}\n" for name in SECTIONS[:-1]]
    boxes = [
        f"- [{'x' if task.status == 'complete' else ' '}] {task.id}: {task.title or task.file}\n"
        for task in given.tasks
    ]
    parts.append(f"## {SECTIONS[-1]}\n\n{''.join(boxes)}")
    return "\n".join(parts)


def with_status(text: str, id: str, status: TaskStatus, *, file: str = "tasks.md") -> str:
    """The document with one task's status changed, and its box in the checklist ticked when it is complete."""
    document = split_document(text, file=file)
    lines = text.splitlines(keepends=True)
    for block in _blocks(document.body, document.body_line, file):
        if not block.is_task or str(read_yaml(block.text, file=file, line=block.line).get("id")) != id:
            continue
        first, last = block.line - 1, block.line - 1 + len(block.text.splitlines())
        _set_status(lines, range(first, last), status, f"{file}:{block.line}: {id}")
        tick = "x" if status == "complete" else " "
        box = re.compile(rf"^(\s*- \[)[ xX](\] {re.escape(id)}(?![\w.-]))")
        return "".join(box.sub(rf"\g<1>{tick}\g<2>", line) for line in lines)
    raise SpecError(f"{file}:1: there is no task {id!r} in it.", hint="It may have been renamed by hand.")


def _set_status(lines: list[str], block: range, status: str, where: str) -> None:
    """Change the line of a block that holds the status, or put one in below the id."""
    indent, at = next(((m[1], n) for n in block if (m := _key("id").match(lines[n]))), ("", -1))
    if at < 0:
        raise SpecError(f"{where}: its status cannot be written.", hint="Give each field a line of its own.")
    held = _key("status", indent)
    for n in block:
        if found := held.match(lines[n]):
            rest = re.sub(r"^[ \t]*[^\s#]+", "", lines[n][found.end() :])
            lines[n] = f"{found[0]} {status}{rest}"
            return
    lines.insert(at + 1, f"{indent}status: {status}\n")


def _key(name: str, indent: str = "[ \t]*") -> re.Pattern[str]:
    return re.compile(rf"({indent})[\"']?{name}[\"']?[ \t]*:")


def with_line(text: str, section: str, line: str) -> str:
    """The document with a line added at the end of a section, which is made when it is not there."""
    found = re.search(rf"^## {re.escape(section)}[ \t]*$", text, re.MULTILINE)
    if found is None:
        return f"{text.rstrip()}\n\n## {section}\n\n- {line}\n"
    following = re.search(r"^## ", text[found.end() :], re.MULTILINE)
    end = found.end() + following.start() if following else len(text)
    body = text[found.end() : end].strip("\n")
    return (
        f"{text[: found.end()]}\n\n{body + chr(10) if body else ''}- {line}\n{chr(10) if following else ''}{text[end:]}"
    )


def with_sections_of(text: str, earlier: str) -> str:
    """A fresh document with what stood in the other sections of an earlier one: logs, and whatever people added."""
    kept = {
        name: body.strip("\n")
        for name, body in _sections(earlier)
        if not name.startswith("Phase: ") and name != SECTIONS[-1] and body.strip()
    }
    for name, body in kept.items():
        heading = f"## {name}\n"
        if heading in text:
            text = text.replace(heading, f"{heading}\n{body}\n", 1)
        else:
            last = f"## {SECTIONS[-1]}\n"
            text = text.replace(last, f"{heading}\n{body}\n\n{last}", 1)
    return text


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Name and body of each level-2 section; headings inside of fences are none."""
    name, body, fenced = "", list[str](), False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            fenced = not fenced
        if line.startswith("## ") and not fenced:
            if name:
                yield name, "".join(body)
            name, body = line[3:].strip(), []
        else:
            body.append(line)
    if name:
        yield name, "".join(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    text: str
    line: int

    @property
    def is_task(self) -> bool:
        """Whether it is meant as one: a task whose id was lost in editing must not be passed over."""
        return re.search(r"^[ \t\"'{]*(?:id|phase|action|depends_on)\b", self.text, re.MULTILINE) is not None


def _blocks(body: str, line: int, file: str) -> Iterator[_Block]:
    lines = body.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        if _FENCE.match(lines[at]):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].rstrip() == "```"), None)
            if end is None:
                raise SpecError(f"{file}:{line + at}: this block is not closed.", hint="End it with a line of ```.")
            yield _Block(text="".join(lines[at + 1 : end]), line=line + at + 1)
            at = end
        at += 1


def _task(given: Mapping[str, Any], file: str, line: int) -> Task:
    def wrong(what: str, hint: str = "") -> SpecError:
        return SpecError(f"{file}:{line}: {given.get('id', 'a task')}: {what}", hint=hint)

    for key in given:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise wrong(f"{key!r} is no field of a task.", f"Did you mean {near[0]!r}?" if near else "")
    for key in ("id", "phase", "action"):
        if not str(given.get(key) or "").strip():
            raise wrong(f"the field {key!r} is missing.", "A block with an id, a phase or an action is a task.")
    if not TASK_ID.fullmatch(str(given["id"])):
        raise wrong("this id cannot be used.", "Letters, digits, dots, dashes and underscores, such as T-001.")
    try:
        action = TaskAction(str(given["action"]).upper())
    except ValueError:
        raise wrong(f"the action {given['action']!r} is not known.", f"Known: {', '.join(TaskAction)}.") from None
    status = str(given.get("status") or "pending")
    if status not in STATUSES:
        raise wrong(f"the status {status!r} is not known.", f"Known: {', '.join(STATUSES)}.")
    try:
        path = repository_path(str(given.get("file") or ""))
    except InputError as error:
        raise wrong(error.message, error.hint) from None
    if not path and action is not TaskAction.VERIFY:
        raise wrong("the field 'file' is missing.", "Only a VERIFY task may be about the whole repository.")
    check = given.get("validation") or {}
    if not isinstance(check, Mapping) or set(check) - {"command", "expected"}:
        raise wrong("'validation' must hold 'command' and 'expected'.")
    if isinstance(given.get("priority"), bool) or not isinstance(given.get("priority", 0), int):
        raise wrong(f"the priority {given['priority']!r} is no whole number.")
    return Task(
        id=str(given["id"]),
        phase=str(given["phase"]),
        action=action,
        file=path,
        title=str(given.get("title") or ""),
        status=status,
        requirements=_words(given, "requirements", wrong),
        gotchas=_words(given, "gotchas", wrong),
        check=TaskCheck(command=str(check.get("command") or ""), expected=str(check.get("expected") or "")),
        code_template=str(given.get("code_template") or ""),
        depends_on=_words(given, "depends_on", wrong),
        satisfies=_words(given, "satisfies", wrong),
        critical=given.get("critical") is True,
        priority=given.get("priority", 0),
        line=line,
    )


def _words(given: Mapping[str, Any], key: str, wrong: Any) -> tuple[str, ...]:
    value = given.get(key) or []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Sequence) or not all(isinstance(each, str | int | float) for each in value):
        raise wrong(f"{key!r} must be a list of texts.")
    return tuple(str(each) for each in value)


def _yaml(task: Task) -> str:
    value: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "phase": task.phase,
        "action": str(task.action),
        "file": task.file,
        "status": task.status,
        "requirements": list(task.requirements),
        "satisfies": list(task.satisfies),
        "gotchas": list(task.gotchas),
        "validation": {"command": task.check.command, "expected": task.check.expected},
        "code_template": task.code_template,
        "depends_on": list(task.depends_on),
    }
    kept = {key: each for key, each in value.items() if each or key in ("file", "validation", "depends_on")}
    if task.critical:
        kept["critical"] = True
    if task.priority:
        kept["priority"] = task.priority
    return write_yaml(kept)
