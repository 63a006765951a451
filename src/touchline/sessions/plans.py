"""What does the plan of a session say, and how does its agent come to know it?

A plan in the agent's clone is named by its path there. One that lies elsewhere the sandbox hides: its words are told.
It is read anew each time: whoever wrote it may go on writing.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from touchline.sessions.records import SessionRecord
from touchline.sessions.texts import text
from touchline.supervision.coach import Plan

_SEARCHED = 200_000
"""Characters in which success criteria are looked for."""
_SHOWN = 20_000
"""Characters that a reviewer sees, and an agent that cannot open the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    path: str
    """From the workspace's root where it is in there, else as it was asked for."""
    inside: bool
    words: str | None = None
    """None when it was not read."""
    why: str = ""
    """Why it was not."""


def plan_of(session: SessionRecord) -> Plan | None:
    """The plan as the coach quotes it, or points at it where the agent has it."""
    found = _found(session, _SEARCHED)
    if found is None:
        return None
    told = not found.inside and found.words is not None
    return Plan(path=text("plan_place") if told else found.path, text=found.words)


def plan_text(session: SessionRecord) -> str:
    """For who judges the work: the plan's words, or its path with the reason why they cannot be read."""
    found = _found(session, _SHOWN)
    if found is None:
        return session.asked.planned
    return f"{found.path} ({found.why})" if found.words is None else found.words


def with_plan(task: str, session: SessionRecord) -> str:
    """The task with its plan, for a prompt. A plan that cannot be read is not spoken of."""
    found = _found(session, _SHOWN + 1)
    if found is None or found.words is None:
        return task
    if found.inside:
        words = text("plan_inside", path=found.path)
    else:
        cut = text("plan_cut", characters=f"{_SHOWN:,}") if len(found.words) > _SHOWN else ""
        told = "\n".join(filter(None, (found.words[:_SHOWN].strip(), cut)))
        words = text("plan_told", file=Path(found.path).name, plan=told)
    return f"{task.rstrip()}\n\n{words}"


def _found(session: SessionRecord, most: int) -> _Found | None:
    """A link in the workspace that leads out of it is not followed: the agent may have put it there."""
    path = session.asked.plan
    if not path:
        return None
    workspace = Path(session.workspace).resolve()
    try:
        place = (workspace / path).resolve()
        inside = place.is_relative_to(workspace)
        if inside:
            path = place.relative_to(workspace).as_posix()
        elif not Path(path).is_absolute():
            return _Found(path=path, inside=False, why="it leads out of the workspace and was not read")
        with open(place, encoding="utf-8", errors="replace", opener=_plain) as file:
            return _Found(path=path, inside=inside, words=file.read(most))
    except OSError as error:
        return _Found(path=path, inside=False, why=f"it cannot be read: {error.strerror}")


def _plain(path: str, flags: int) -> int:
    """A plain file and nothing else: a pipe that the agent put in its place would be waited on for ever."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no plain file", path)
    return handle
