"""What is a question to a person? What is asked, and what is known of one that was."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One of the answers that are offered."""

    label: str
    """What is answered when it is taken."""
    description: str = ""
    recommended: bool = False
    implications: str = ""
    """What follows from taking it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "description": self.description,
            "recommended": self.recommended,
            "implications": self.implications,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Option:
        return cls(
            label=str(value["label"]),
            description=str(value.get("description", "")),
            recommended=bool(value.get("recommended")),
            implications=str(value.get("implications", "")),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """A question that is to be asked. Agent, trigger and subject make its id: the same again is the same question."""

    agent: str
    """Who asks, such as a session's or a build's id."""
    trigger: str
    """What made it ask, such as `stop` or `task_failed`."""
    subject: str
    """What it is about, such as a turn's number or a task's id."""
    text: str
    """The question itself."""
    kind: str
    """Its type, in one word."""
    role: str = "agent"
    context: str = ""
    """Why it is asked; what a person needs to know to answer."""
    title: str = ""
    """What is shown as its subject in lists; the subject when empty."""
    options: tuple[Option, ...] = ()
    default: str | None = None
    free_text: bool = True
    """Whether something else than an option may be answered."""
    blocking: bool = True
    """Whoever asked waits for the answer."""
    irreversible: bool = False
    """Never to be answered by a default."""
    phase: str | None = None
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    task_id: str | None = None
    build_id: str | None = None
    id: str = ""
    """An id of the asker's own; empty: made from agent, trigger and subject."""

    @property
    def key(self) -> str:
        """Its id, and the key under which the engine parks what goes on with the answer."""
        return self.id or question_id(self.agent, self.trigger, self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRecord:
    """A question as its row says, with its answer where there is one."""

    id: str
    kind: str
    role: str
    agent: str
    trigger: str
    subject: str
    text: str
    context: str
    options: tuple[Option, ...]
    default: str | None
    free_text: bool
    blocking: bool
    irreversible: bool
    status: str
    """open, answered, expired, acknowledged, dismissed or withdrawn."""
    phase: str | None
    tags: tuple[str, ...]
    session_id: str | None
    task_id: str | None
    build_id: str | None
    created_at: datetime
    answer: str | None = None
    answer_source: str | None = None
    """Where the answer came from: user, default, preference or timeout."""
    answered_by: str | None = None
    answered_at: datetime | None = field(default=None)


def question_id(agent: str, trigger: str, subject: str) -> str:
    """The same for the same three, wherever and how often it is computed."""
    told = "\0".join((agent, trigger, subject))
    return f"question_{hashlib.sha256(told.encode()).hexdigest()[:24]}"
