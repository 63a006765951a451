"""What does Gemini CLI print? (`--output-format stream-json` and `json`)

`result` is the final record, but the loop detector's stop comes as a success with a warning before it. Exit codes
are HTTP statuses modulo 256 or numbers of its own. Words come in pieces and are put together here; the exit code
of a failing command is never told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from touchline.supervision.facts import Ended, Usage
from touchline.transcripts.bounds import cut_words
from touchline.transcripts.ending import End, Process
from touchline.transcripts.faults import kind_of, status_in
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.shapes import count, identifier, joined_text, mapping, moment, text, whole

STATUSES = {status % 256: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504, 529)}
TURN_LIMIT, TURN_LIMIT_EXIT = "FatalTurnLimitedError", 53
CANCELLED = "FatalCancellationError"
OWN_EXITS = {41: "not signed in", 42: "bad input", 44: "sandbox failed", 52: "bad settings", 55: "untrusted folder"}
LOOP = "Loop detected"
PIECES = 10_000
"""Pieces of one message, or characters of one piece, that are held before they are put together."""


class GeminiRecords:
    """The records of one run."""

    def __init__(self) -> None:
        self.turn = Gathering("gemini")
        self._pieces: list[str] = []
        self._pieces_at: datetime | None = None
        self._final: End | None = None
        self._error: tuple[str, int | None, datetime | None] | None = None
        self._loop = False

    def read(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        at = self.turn.seen(moment(record.get("timestamp")))
        if kind == "message" and record.get("role") != "user":
            self._pieces.append(text(record.get("content")))
            self._pieces_at = self._pieces_at or at
            if len(self._pieces) > PIECES or len(self._pieces[-1]) > PIECES:
                self._pieces = [cut_words("".join(self._pieces))]
            return True
        self._flush()
        if kind == "init":
            self.turn.session_id = identifier(record.get("session_id"))
            self.turn.model = text(record.get("model")) or None
        elif kind == "message":
            self.turn.prompt(joined_text(record.get("content")), at=at)
        elif kind == "tool_use":
            call_id = identifier(record.get("tool_id")) or f"unnamed_{self.turn.added}"
            self.turn.call(call_id, text(record.get("tool_name")), record.get("parameters"), at=at)
        elif kind == "tool_result":
            self._tool_result(record, at)
        elif kind == "error":
            message = text(record.get("message"))
            self._loop = self._loop or message.startswith(LOOP)
            self.turn.fault(kind_of(message=message), message, at=at)
        elif kind == "result":
            self._result(record, at)
        elif kind is None and ("response" in record or "error" in record) and "session_id" in record:
            self._document(record)
        else:
            return False
        return True

    def end(self, process: Process, /) -> End | None:
        self._flush()
        status = STATUSES.get(process.exit_code) if process.exit_code is not None else None
        if self._error is not None:
            message, told, at = self._error
            return self._api_error(message, told or status, at)
        if self._final is not None or process.exit_code is None or process.ended_by is not None:
            return self._final
        if process.exit_code == TURN_LIMIT_EXIT:
            return End(ended=Ended.LIMIT, detail="max_turns")
        if process.exit_code in OWN_EXITS:
            return End(ended=Ended.CRASHED, detail=OWN_EXITS[process.exit_code])
        return self._api_error(f"exit {process.exit_code}", status, None) if status else None

    def _flush(self) -> None:
        if self._pieces:
            self.turn.text("".join(self._pieces), at=self._pieces_at)
            self._pieces, self._pieces_at = [], None

    def _tool_result(self, record: Mapping[str, Any], at: datetime | None) -> None:
        failed = record.get("status") == "error"
        words = joined_text(record.get("output")) or text(mapping(record.get("error")).get("message"))
        self.turn.result(identifier(record.get("tool_id")) or "", words, failed=failed, at=at)

    def _result(self, record: Mapping[str, Any], at: datetime | None) -> None:
        stats = mapping(record.get("stats"))
        models = mapping(stats.get("models"))
        if models:
            for name, told in models.items():
                self.turn.spend(_usage(told), name)
            if self.turn.model not in models:
                # The model was chosen by the CLI ("auto"); the one that did most is named.
                self.turn.model = max(models, key=lambda name: _usage(models[name]).total)
        else:
            self.turn.spend(_usage(stats), self.turn.model)
        error = mapping(record.get("error"))
        if record.get("status") == "error" or error:
            self._final = self._failed(error, at)
        elif self._loop:
            self._final = End(ended=Ended.LIMIT, detail="loop detected by the CLI")
        else:
            self._final = End(ended=Ended.FINISHED, detail=text(record.get("status")))

    def _failed(self, error: Mapping[str, Any], at: datetime | None) -> End | None:
        kind, message = text(error.get("type")), text(error.get("message"))
        if kind == TURN_LIMIT:
            return End(ended=Ended.LIMIT, detail="max_turns")
        if kind == CANCELLED:
            return End(ended=Ended.INTERRUPTED, detail="cancelled")
        if kind.startswith("Fatal"):
            self.turn.fault("other", message, fatal=True, at=at)
            return End(ended=Ended.CRASHED, detail=kind)
        # Some messages leave the status out, and only the exit code tells it: the fault is added at the end.
        self._error = (message, whole(error.get("code")) or status_in(message), at)
        return None

    def _api_error(self, message: str, status: int | None, at: datetime | None) -> End:
        kind = kind_of(status=status, message=message)
        self.turn.fault(kind, message, status=status, fatal=True, at=at)
        detail = "prompt_too_long" if kind == "context" else f"api {status}" if status else "api_error"
        return End(ended=Ended.API_ERROR, detail=detail)

    def _document(self, record: Mapping[str, Any]) -> None:
        """The one object of `--output-format json`."""
        self.turn.session_id = identifier(record.get("session_id"))
        for name, told in mapping(mapping(record.get("stats")).get("models")).items():
            self.turn.model = self.turn.model or name
            self.turn.spend(_document_usage(mapping(told).get("tokens")), name)
        error = mapping(record.get("error"))
        if error:
            self._final = self._failed(error, None)
            return
        self.turn.text(text(record.get("response")))
        self._final = End(ended=Ended.FINISHED, detail="success")


def _usage(value: Any) -> Usage:
    """Everything beyond the input is output, thoughts too, as the total has it."""
    stats = mapping(value)
    cached, given = count(stats.get("cached")), count(stats.get("input_tokens"))
    beyond = max(count(stats.get("output_tokens")), count(stats.get("total_tokens")) - given)
    return Usage(input=max(0, given - cached), output=beyond, cache_read=cached)


def _document_usage(value: Any) -> Usage:
    tokens = mapping(value)
    cached, given = count(tokens.get("cached")), count(tokens.get("prompt"))
    out = count(tokens.get("candidates")) + count(tokens.get("thoughts"))
    return Usage(input=max(0, given - cached) + count(tokens.get("tool")), output=out, cache_read=cached)
