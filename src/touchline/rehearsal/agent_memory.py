"""What does the scripted agent remember of a session? Lines in a file, written as things happen.

A process that is killed leaves all its lines but perhaps half of the last one; the next process goes on from there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touchline.errors import InputError
from touchline.rehearsal.turns import Told, Usage
from touchline.rehearsal.wire import Telling, ToolUse

CUT_OFF = "The call was cut off when the agent's process ended; whether it ran, and how far, is not known."


class Memory:
    """One session on disk."""

    def __init__(self, path: Path, lines: list[dict[str, Any]]) -> None:
        self._path = path
        self._lines = lines
        self._open_calls: list[str] = []
        for line in lines:
            self._follow(line)

    @classmethod
    def new(cls, folder: Path, session: str) -> Memory:
        """A new session. Raises `InputError` when there is one of this name."""
        path = _file(folder, session)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise InputError(
                f"Session ID {session} is already in use.", hint="Go on with it by --resume, or take another id."
            ) from None
        return cls(path, [])

    @classmethod
    def again(cls, folder: Path, session: str) -> Memory:
        """A session that was begun before. Raises `InputError` when there is none."""
        path = _file(folder, session)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise InputError(
                f"No conversation found with session ID: {session}", hint=f"Sessions are kept in {path.parent}."
            ) from None
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        memory = cls(path, [json.loads(line) for line in whole.splitlines()])
        if memory._open_calls:
            memory.results([(call, CUT_OFF, True) for call in memory._open_calls])
        return memory

    def user(self, words: str) -> None:
        self._add({"user": words})

    def reply(self, text: str, uses: Sequence[ToolUse], usage: Usage) -> None:
        tokens = [usage.input, usage.cached, usage.output]
        self._add({"reply": text, "calls": [use.id for use in uses], "tokens": tokens})

    def results(self, results: Sequence[tuple[str, str, bool]]) -> None:
        """What the calls returned: id, text, and whether it failed."""
        self._add({"results": [list(each) for each in results]})

    def failure(self, turn: int) -> None:
        self._add({"failed": turn})

    def told(self) -> tuple[Told, ...]:
        """The session as the player wants it."""
        telling = Telling()
        for line in self._lines:
            if "user" in line:
                telling.user(line["user"])
            elif "reply" in line:
                telling.reply()
            for _, words, _ in line.get("results", ()):
                telling.result(words)
        return telling.told()

    def failed(self) -> Mapping[int, int]:
        """How often each turn of the script has failed already."""
        found: dict[int, int] = {}
        for line in self._lines:
            if "failed" in line:
                found[line["failed"]] = found.get(line["failed"], 0) + 1
        return found

    def usages(self) -> list[Usage]:
        """The tokens of every reply so far."""
        told = [line["tokens"] for line in self._lines if "tokens" in line]
        return [Usage(input=new, cached=cached, output=output) for new, cached, output in told]

    def _add(self, line: dict[str, Any]) -> None:
        with self._path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        self._lines.append(line)
        self._follow(line)

    def _follow(self, line: Mapping[str, Any]) -> None:
        if "calls" in line:
            self._open_calls = list(line["calls"])
        elif "results" in line:
            self._open_calls = []


def _file(folder: Path, session: str) -> Path:
    if not re.fullmatch(r"[\w.-]{1,100}", session) or session.startswith("."):
        raise InputError(f"{session!r} cannot be a session's id.", hint="Use letters, digits, _ and -.")
    return folder / "sessions" / f"{session}.jsonl"
