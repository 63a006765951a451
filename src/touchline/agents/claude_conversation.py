"""What is said to Claude Code, and what does it answer? One turn of `stream-json` in both directions.

A message written while a tool runs reaches the model with that tool's result. One that comes after the model's last
words begins a second round with a second `result`: a turn with an unacknowledged message is not over at its first.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from touchline.agents.port import Heard, Request
from touchline.supervision.facts import Ended, Turn
from touchline.transcripts.claude import ClaudeRecords
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.shapes import mapping, text
from touchline.transcripts.stream import Stream


class ClaudeConversation:
    """A `Conversation` with Claude Code, or with a program that speaks as it does.

    `told_usd` is the sum that the session's last result told, for versions that sum the cost over a resume.
    """

    def __init__(self, request: Request, told_usd: float | None = None) -> None:
        self._request = request
        self._records = _Records(told_usd=told_usd)
        self._stream = Stream(self._records)
        self._asked_to_stop = False
        self._closed = False
        self._over = False

    @property
    def over(self) -> bool:
        return self._over

    @property
    def session_id(self) -> str | None:
        return self._records.turn.session_id or self._request.session or self._request.new_session

    @property
    def told_usd(self) -> float | None:
        """The cost so far, of a version that sums it over the session; None of one that tells each process's own."""
        return self._records.told_usd if self._records.sums else None

    def open(self) -> bytes:
        return self._message(self._request.prompt)

    def hear(self, line: bytes) -> Heard:
        if self._over:
            return Heard()
        results = self._records.results
        events = self._stream.feed(line)
        reply, self._records.reply = self._records.reply, b""
        close = False
        if self._records.results > results:
            self._over = self._asked_to_stop or self._records.failed or not self._records.waiting
            close = not self._over and not self._closed
            self._closed = self._closed or close
        return Heard(events=events, reply=reply, close=close)

    def say(self, text: str) -> bytes | None:
        if self._over or self._closed or self._asked_to_stop:
            return None
        return self._message(text)

    def interrupt(self) -> bytes | None:
        if self._over or self._closed:
            return None
        self._asked_to_stop = True
        return _line({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})

    def finish(
        self, *, exit_code: int | None, signal: int | None = None, ended_by: EndedBy | None = None, errors: str = ""
    ) -> Turn:
        if errors and not self._records.results:
            # Without a final record, what it said on standard error is all there is to go by.
            self._records.turn.fault("other", errors, fatal=bool(exit_code) and ended_by is None)
        return self._stream.finish(exit_code=exit_code, signal=signal, ended_by=ended_by)

    def _message(self, words: str) -> bytes:
        message_id = str(uuid.uuid4())
        self._records.waiting[message_id] = words
        message = {"role": "user", "content": [{"type": "text", "text": words}]}
        return _line({"type": "user", "uuid": message_id, "message": message, "parent_tool_use_id": None})


class _Records(ClaudeRecords):
    """The records of the stream, and what in them is meant for us rather than for the turn."""

    def __init__(self, *, told_usd: float | None) -> None:
        super().__init__(told_usd=told_usd)
        self.waiting: dict[str, str] = {}
        self.reply = b""
        self.sums = told_usd is not None

    @property
    def failed(self) -> bool:
        end = self.end(None)  # type: ignore[arg-type]
        return end is not None and end.ended is not Ended.FINISHED

    def read(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        if kind == "command_lifecycle":
            # Told of messages that carry an id of ours: queued, started, completed and the like.
            if record.get("state") != "queued":
                self.waiting.pop(text(record.get("command_uuid")), None)
            return True
        if kind == "user" and record.get("isReplay") is True:
            self._heard_us(record)
        elif kind == "control_request":
            self.reply += _refusal(record)
        elif kind == "result":
            self.sums = self.sums or "result_index" in record
        known = super().read(record)
        if kind == "result" and record.get("structured_output") is not None:
            # The answer that was held to the schema is the turn's last word.
            self.turn.text(json.dumps(record["structured_output"], ensure_ascii=False))
        return known

    def _heard_us(self, record: Mapping[str, Any]) -> None:
        if self.waiting.pop(text(record.get("uuid")), None) is None and self.waiting:
            # A version that gives its own ids acknowledges in the order of writing.
            del self.waiting[next(iter(self.waiting))]


def _refusal(record: Mapping[str, Any]) -> bytes:
    """Whatever it asks of its host, such as a permission, is answered with no: unanswered it would wait for ever."""
    request = mapping(record.get("request"))
    answer: dict[str, Any]
    if request.get("subtype") == "can_use_tool":
        answer = {"subtype": "success", "response": {"behavior": "deny", "message": "Nobody is there to allow this."}}
    else:
        answer = {"subtype": "error", "error": "This host does not serve that."}
    return _line({"type": "control_response", "response": {"request_id": record.get("request_id"), **answer}})


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
