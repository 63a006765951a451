"""What does Gemini CLI keep on disk? (`~/.gemini/tmp/<project>/chats/session-*.jsonl`, older ones `.json`)

A message is written again as more of it is known, so words, tokens and calls are counted once per id. `$set` lines
rewrite what was already told. There is no record of an end: a turn has finished when the agent's last message
called no tool, which also holds for one killed before its first call was noted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchline.supervision.facts import Ended, Turn, Usage
from touchline.transcripts.ending import End
from touchline.transcripts.faults import kind_of, status_in
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.session_log import end_of
from touchline.transcripts.shapes import count, identifier, items, joined_text, mapping, moment, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

CONTEXT = "<session_context>"
SPOKEN = End(ended=Ended.FINISHED, detail="the last message called no tool")
IGNORED = frozenset({"info", "warning", "about", "help", "stats"})
FAILED = frozenset({"error", "cancelled"})
IDS_REMEMBERED = 512
_WORKSPACE = re.compile(r"Workspace Directories:\**\s*\n\s*- ([^\n]+)")
_PROCESS_GROUP = re.compile(r"(?:^|\n)Process Group PGID: \d+")


class GeminiLog:
    """The records of one session. `project` is the name of the folder it lies in."""

    def __init__(self, *, project: str | None = None) -> None:
        self.open: Gathering | None = None
        self._said: End | None = None
        self._session: str | None = None
        self._cwd = project
        self._known: dict[str, None] = {}

    def read(self, record: Mapping[str, Any]) -> Turn | None:
        kind = text(record.get("type"))
        if kind == "user":
            return self._user(record)
        if kind == "gemini":
            self._gemini(record)
        elif kind == "error":
            self._error(record)
        elif "$set" in record:
            self._rewritten(mapping(record.get("$set")))
        elif "sessionId" in record:
            self._session = identifier(record.get("sessionId"))
        elif kind not in IGNORED and not any(key.startswith("$") for key in record):
            raise ValueError(f"unknown record type {kind!r}")
        return None

    def close(self, *, overtaken: bool = False) -> Turn | None:
        turn, said = self.open, self._said
        self.open, self._said = None, None
        return None if turn is None else turn.turn(end_of(said, overtaken=overtaken))

    def _rewritten(self, changes: Mapping[str, Any]) -> None:
        self._session = identifier(changes.get("sessionId")) or self._session
        for message in items(changes.get("messages"))[:1]:
            self._context(joined_text(mapping(message).get("content")))

    def _context(self, words: str) -> bool:
        if not words.startswith(CONTEXT):
            return False
        found = _WORKSPACE.search(words)
        if found:
            self._cwd = found[1].strip()
        return True

    def _new(self, name: str | None) -> bool:
        if name is None:
            return True
        if name in self._known:
            return False
        if len(self._known) >= IDS_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[name] = None
        return True

    def _begin(self) -> Gathering:
        self.open = turn = Gathering("gemini")
        turn.session_id, turn.cwd = self._session, self._cwd
        return turn

    def _user(self, record: Mapping[str, Any]) -> Turn | None:
        content = record.get("content")
        words = joined_text(content)
        at = moment(record.get("timestamp"))
        if self._context(words):
            return None
        if not words:
            if self.open is not None:
                self.open.seen(at)
                self._returned(self.open, content, at)
            return None
        if not self._new(identifier(record.get("id"))):
            return None
        closed = self.close(overtaken=True)
        turn = self._begin()
        turn.seen(at)
        turn.prompt(words, at=at)
        return closed

    def _returned(self, turn: Gathering, content: Any, at: datetime | None) -> None:
        """Results come with the call; here only those of a call that was noted without them."""
        for part in items(content):
            response = mapping(mapping(part).get("functionResponse"))
            call_id = identifier(response.get("id"))
            if call_id is not None and self._new(f"result {call_id}"):
                turn.result(call_id, _output({"result": [part]}), at=at)

    def _gemini(self, record: Mapping[str, Any]) -> None:
        turn = self.open or self._begin()
        at = turn.seen(moment(record.get("timestamp")))
        message_id = identifier(record.get("id"))
        if self._new(message_id):
            model = text(record.get("model")) or None
            turn.model = turn.model or model
            turn.text(joined_text(record.get("content")), message_id=message_id, at=at)
            turn.spend(_usage(record.get("tokens")), model)
            self._said = SPOKEN
        for call in items(record.get("toolCalls")):
            self._said = None
            self._call(turn, mapping(call))

    def _call(self, turn: Gathering, call: Mapping[str, Any]) -> None:
        at = turn.seen(moment(call.get("timestamp")))
        call_id = identifier(call.get("id")) or f"unnamed_{turn.added}"
        if self._new(f"call {call_id}"):
            turn.call(call_id, text(call.get("name")), call.get("args"), at=at)
        if ("result" in call or text(call.get("status")) in FAILED) and self._new(f"result {call_id}"):
            turn.result(call_id, _output(call), failed=text(call.get("status")) in FAILED, at=at)

    def _error(self, record: Mapping[str, Any]) -> None:
        if self.open is None:
            return
        message = joined_text(record.get("content"))
        status = status_in(message)
        kind = kind_of(status=status, message=message)
        at = self.open.seen(moment(record.get("timestamp")))
        self.open.fault(kind, message, status=status, fatal=True, at=at)
        self._said = End(ended=Ended.API_ERROR, detail=f"api {status}" if status else "error")


def _output(call: Mapping[str, Any]) -> str:
    """What the tool printed. The process number Gemini adds is taken off: it differs in every run."""
    for part in items(call.get("result")):
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        words = text(response.get("output")) or text(response.get("error"))
        if words:
            words = words.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>")
            return _PROCESS_GROUP.sub("", words)
    return text(call.get("resultDisplay"))


def _usage(value: Any) -> Usage:
    tokens = mapping(value)
    cached = count(tokens.get("cached"))
    given = count(tokens.get("input")) + count(tokens.get("tool"))
    out = count(tokens.get("output")) + count(tokens.get("thoughts"))
    return Usage(input=max(0, given - cached), output=out, cache_read=cached)
