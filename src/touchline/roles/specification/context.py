"""What does the specification rest on? All at once: the idea's documents, the repository's rules, its lessons and its
code. A document that must be there and is not is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from touchline.errors import SpecError
from touchline.roles.specification.gotchas import Gotcha
from touchline.roles.specification.lessons import load_lessons
from touchline.roles.validation.discovery import Codebase, look_at

REQUIRED = ("README.md", "planning/brief.md")
OPTIONAL = (
    "target-users.md",
    "problem-solution.md",
    "development.md",
    "research/market.md",
    "research/competitive.md",
    "research/technical.md",
    "planning/mvp-scope.md",
)
SURE = 0.7
"""Lessons below this confidence are left out of a specification."""
MOST = 200_000
"""Characters of one document; more is no brief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecContext:
    """All that was loaded."""

    brief: str
    documents: Mapping[str, str]
    """The other documents, by name."""
    conventions: str
    """The repository's own rules for agents, as they stand there."""
    gotchas: tuple[Gotcha, ...]
    codebase: Codebase
    repository: Path
    names: tuple[str, ...]
    """Every document it rests on, for the specification's context section."""


def load_context(source: Path, repository: Path) -> SpecContext:
    """From an idea's folder (README.md and planning/brief.md must be there) or from a single brief."""
    if source.is_dir():
        missing = [name for name in REQUIRED if not (source / name).is_file()]
        if missing:
            raise SpecError(
                f"{source}: {' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not there.",
                hint="An idea needs both before it is specified; or give a single brief: touchline spec new BRIEF.md",
            )
        texts = {name: _read(source / name) for name in (*REQUIRED, *OPTIONAL) if (source / name).is_file()}
        brief = texts.pop(REQUIRED[1])
        names = (REQUIRED[1], *texts)
    else:
        brief, texts, names = _read(source), {}, (source.name,)
    if not brief.strip():
        raise SpecError(f"{source}:1: the brief is empty.", hint="Say in a few sentences what is to be built, and why.")
    codebase = look_at(repository)
    rules = {name: _read(repository / name) for name in codebase.conventions}
    return SpecContext(
        brief=brief,
        documents=texts,
        conventions="\n\n".join(f"From {name}:\n{text.strip()}" for name, text in rules.items()),
        gotchas=tuple(g for g in load_lessons(repository) if g.confidence >= SURE),
        codebase=codebase,
        repository=repository,
        names=(*names, *rules),
    )


def in_words(codebase: Codebase) -> str:
    """A code base as a prompt tells it."""
    if not codebase.files:
        return "An empty repository."
    languages = ", ".join(f"{name} ({count} files)" for name, count in list(codebase.languages.items())[:6])
    lines = [f"Languages: {languages or 'none known'}.", f"At the top: {', '.join(codebase.layout[:40])}."]
    lines += [f"{check.kind}: `{check.command}` (from {check.found_in})" for check in codebase.checks]
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(f"{path}: there is no such file.", hint="Give the brief's path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: it cannot be read: {error}.", hint="Give a UTF-8 text file.") from error
    if len(text) > MOST:
        raise SpecError(
            f"{path}: {len(text)} characters are too many.", hint=f"At most {MOST}; put the rest elsewhere."
        )
    return text
