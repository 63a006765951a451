"""What does a specification say? The values that spec.md holds, for reading, checking and writing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Priority = Literal["must", "should", "could"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
SpecStatus = Literal["draft", "waiting", "revision", "approved", "rejected", "superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing the build must bring about."""

    id: str
    text: str
    priority: Priority = "must"
    acceptance: str = ""
    """How one sees that it is fulfilled."""
    source: str = ""
    """The document it comes from."""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file that the build makes, changes or keeps away from."""

    path: str
    purpose: str
    owner: str = ""
    """Who owns it now; only for files that are changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A specification. Texts are Markdown; lists are read back from their sections."""

    id: str
    title: str
    version: int = 1
    status: SpecStatus = "draft"
    idea: str = ""
    repository: str = ""
    source: str = ""
    """The brief or the idea's folder it was written from, relative to its own folder; a revision reads it again."""
    context: tuple[str, ...] = ()
    """The documents it rests on."""
    objective: str = ""
    success_criteria: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    quality: tuple[str, ...] = ()
    """Non-functional requirements."""
    new_files: tuple[PlannedFile, ...] = ()
    modified_files: tuple[PlannedFile, ...] = ()
    avoided_files: tuple[PlannedFile, ...] = ()
    api: str = ""
    data_models: str = ""
    dependencies: tuple[str, ...] = ()
    gotchas: tuple[str, ...] = ()
    validation: str = ""
    risks: tuple[str, ...] = ()
    approval: str = ""
    """Who approved it, and when; filled in by the approval."""
