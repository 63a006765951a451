"""What stands in spec.md? A specification as Markdown that people may edit, and read back with file and line.

Sections that Touchline does not know are kept where they are; a section that is not there counts as empty.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, get_args

from touchline.errors import InputError, SpecError
from touchline.roles.specification.front_matter import split_document, write_yaml
from touchline.roles.specification.spec import PRIORITIES, PlannedFile, Requirement, Spec, SpecStatus
from touchline.roles.specification.task import repository_path

_LISTS = {
    "Context": "context",
    "Success Criteria": "success_criteria",
    "Out of scope": "out_of_scope",
    "Non-functional requirements": "quality",
    "Dependencies": "dependencies",
    "Known gotchas": "gotchas",
    "Risks": "risks",
}
_TEXTS = {
    "Objective": "objective",
    "API": "api",
    "Data models": "data_models",
    "Validation strategy": "validation",
    "Approval": "approval",
}
_FILES = {"New files": "new_files", "Modified files": "modified_files", "Avoided files": "avoided_files"}
_ORDER = (
    "Context", "Objective", "Success Criteria", "Out of scope", "Functional requirements",
    "Non-functional requirements", "New files", "Modified files", "Avoided files", "API", "Data models",
    "Dependencies", "Known gotchas", "Validation strategy", "Risks", "Approval",
)  # fmt: skip
_STATUSES: tuple[str, ...] = get_args(SpecStatus)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    body: str
    line: int
    """Of the first line below the heading."""


def read_spec(text: str, *, file: str = "spec.md") -> Spec:
    """The specification in a document. SpecError, with file and line, for what cannot be used."""
    document = split_document(text, file=file)
    head = document.head
    if not head.get("id"):
        raise SpecError(f"{file}:1: the front matter has no id.", hint="Begin the file with ---, id: ..., ---.")
    status = str(head.get("status") or "draft")
    if status not in _STATUSES:
        raise SpecError(f"{file}:1: the status {status!r} is not known.", hint=f"Known: {', '.join(_STATUSES)}.")
    version = head.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SpecError(f"{file}:1: the version {version!r} is no whole number from 1 on.")
    title = re.search(r"^# (.+)$", document.body, re.MULTILINE)
    found: dict[str, Any] = {}
    for section in _sections(document.body, document.body_line):
        if section.name in _LISTS:
            found[_LISTS[section.name]] = tuple(text for text, _ in _bullets(section))
        elif section.name in _TEXTS:
            found[_TEXTS[section.name]] = section.body.strip()
        elif section.name in _FILES:
            found[_FILES[section.name]] = tuple(_files(section, file))
        elif section.name == "Functional requirements":
            found["requirements"] = tuple(_requirements(section, file))
    return Spec(
        id=str(head["id"]),
        title=title[1].strip() if title else "",
        version=version,
        status=status,  # type: ignore[arg-type]
        idea=str(head.get("idea") or ""),
        repository=str(head.get("repository") or ""),
        source=str(head.get("source") or ""),
        **found,
    )


def write_spec(spec: Spec, *, before: str = "", file: str = "spec.md") -> str:
    """The document. Given the one `before`, its unknown sections are kept, each after the section it stood behind."""
    head = {"id": spec.id, "version": spec.version, "status": spec.status}
    head |= {name: value for name in ("idea", "repository", "source") if (value := getattr(spec, name))}
    written = {name: _written(spec, name) for name in _ORDER}
    order = list(_ORDER)
    if before:
        document = split_document(before, file=file)
        head = {**document.head, **head}
        if spec.status != "approved":
            head.pop("approved_by", None)  # what was approved is not what stands here now
        last = ""
        for section in _sections(document.body, document.body_line):
            if section.name not in written:
                order.insert(order.index(last) + 1 if last in order else 0, section.name)
                written[section.name] = section.body.strip("\n")
            last = section.name
    parts = [f"---\n{write_yaml(head)}---", f"# {spec.title}"]
    parts += [f"## {name}\n\n{written[name]}" for name in order if written[name]]
    return "\n\n".join(parts) + "\n"


def with_head(text: str, *, file: str = "spec.md", **values: Any) -> str:
    """The document with values of its head changed and everything else as it is."""
    document = split_document(text, file=file)
    return f"---\n{write_yaml({**document.head, **values})}---\n{document.body}"


def _written(spec: Spec, name: str) -> str:
    if name in _LISTS:
        return "\n".join(f"- {_one_line(each)}" for each in getattr(spec, _LISTS[name]))
    if name in _TEXTS:
        return str(getattr(spec, _TEXTS[name])).strip()
    if name in _FILES:
        return "\n".join(
            f"- `{each.path}`{f' (owner: {each.owner})' if each.owner else ''}: {_one_line(each.purpose)}"
            for each in getattr(spec, _FILES[name])
        )
    return "\n\n".join(
        f"### {r.id}: {_one_line(r.text)}\n\n- priority: {r.priority}\n- acceptance: {_one_line(r.acceptance)}\n"
        f"- source: {_one_line(r.source)}"
        for r in spec.requirements
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sections(body: str, line: int) -> Iterator[_Section]:
    """The level-2 sections, headings inside code fences left alone."""
    name, start, kept, fence = "", line, list[str](), ""
    for number, each in enumerate(body.splitlines(keepends=True), start=line):
        mark = each.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        if not fence and each.startswith("## "):
            if name:
                yield _Section(name=name, body="".join(kept), line=start)
            name, start, kept = _known(each[3:].strip()), number + 1, []
        else:
            kept.append(each)
    if name:
        yield _Section(name=name, body="".join(kept), line=start)


def _known(heading: str) -> str:
    """A heading as we spell it, when only its case differs."""
    return next((name for name in _ORDER if name.casefold() == heading.casefold()), heading)


def _bullets(section: _Section) -> Iterator[tuple[str, int]]:
    text, at = "", 0
    for number, line in enumerate(section.body.splitlines(), start=section.line):
        if line.startswith(("- ", "* ")):
            if text:
                yield text, at
            text, at = line[2:].strip(), number
        elif text and line.strip():
            text += " " + line.strip()
    if text:
        yield text, at


def _files(section: _Section, file: str) -> Iterator[PlannedFile]:
    for text, line in _bullets(section):
        found = re.fullmatch(r"`([^`]+)`(?:\s*\(owner: ([^)]*)\))?\s*:?\s*(.*)", text, re.DOTALL)
        if found is None:
            raise SpecError(
                f"{file}:{line}: {text[:60]!r} names no file.", hint="Write it as: - `path/of/file.py`: what it is for"
            )
        try:
            path = repository_path(found[1])
        except InputError as error:
            raise SpecError(f"{file}:{line}: {error.message}", hint=error.hint) from None
        yield PlannedFile(path=path, owner=(found[2] or "").strip(), purpose=found[3].strip())


def _requirements(section: _Section, file: str) -> Iterator[Requirement]:
    current: Requirement | None = None
    lines = section.body.splitlines()
    for number, line in enumerate(lines, start=section.line):
        if heading := re.match(r"### ([A-Z][\w-]*)\s*:\s*(.+)", line):
            if current is not None:
                yield current
            current = Requirement(id=heading[1], text=heading[2].strip(), line=number)
        elif line.startswith("### "):
            raise SpecError(
                f"{file}:{number}: {line[4:].strip()!r} is no requirement.",
                hint="Write it as: ### FR-001: what is required",
            )
        elif field := re.match(r"[-*] (\w+)\s*:\s*(.*)", line):
            if current is None:
                raise SpecError(f"{file}:{number}: this belongs to no requirement.", hint="Put it below a ### heading.")
            current = _with_field(current, field[1], field[2].strip(), _error(file, number))
    if current is not None:
        yield current


def _with_field(requirement: Requirement, name: str, value: str, wrong: Callable[[str, str], SpecError]) -> Requirement:
    names: Sequence[str] = ("priority", "acceptance", "source")
    key = name.casefold()
    if key not in names:
        near = get_close_matches(key, names, n=1)
        raise wrong(f"{name!r} is no field of a requirement.", f"Did you mean {near[0]!r}?" if near else "")
    if key == "priority" and value.casefold() not in PRIORITIES:
        raise wrong(f"the priority {value!r} is not known.", f"Known: {', '.join(PRIORITIES)}.")
    return replace(requirement, **{key: value.casefold() if key == "priority" else value})  # type: ignore[arg-type]


def _error(file: str, line: int) -> Callable[[str, str], SpecError]:
    return lambda what, hint: SpecError(f"{file}:{line}: {what}", hint=hint)
