"""Whose log is this?

The format shows in the shape of the first records, never in the file's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from touchline.errors import LogNotFound
from touchline.supervision.facts import Unread
from touchline.transcripts.decode import decode
from touchline.transcripts.lines import BUFFER, LINE_LIMIT, lines_of

MAGIC = b"SQLite format 3\0"
"""How every SQLite file begins."""
LOOKED_AT = 200
"""Lines that may be noise before the first record that tells."""


class LogFormat(StrEnum):
    """A kind of file that holds turns."""

    CLAUDE_LOG = "claude-log"
    CLAUDE_STREAM = "claude-stream"
    CODEX_LOG = "codex-log"
    CODEX_STREAM = "codex-stream"
    OPENCODE_DB = "opencode-db"
    OPENCODE_STREAM = "opencode-stream"
    GEMINI_LOG = "gemini-log"
    GEMINI_JSON = "gemini-json"
    GEMINI_STREAM = "gemini-stream"
    ACP_STREAM = "acp-stream"

    @property
    def cli(self) -> str:
        return self.value.partition("-")[0]


def sniff(path: str | Path) -> LogFormat | None:
    """The format of a file, or None when it is empty or no known log. Raises `LogNotFound` when unreadable."""
    path = Path(path)
    try:
        with path.open("rb", buffering=BUFFER) as file:
            if file.read(len(MAGIC)) == MAGIC:
                # SQLite is loaded only for the one CLI that uses it: a hook starts without it.
                from touchline.transcripts.opencode_db import is_opencode

                return LogFormat.OPENCODE_DB if is_opencode(path) else None
            file.seek(0)
            first = b""
            for line in islice(lines_of(file), LOOKED_AT):
                if isinstance(line, Unread):
                    continue
                first = first or line.strip()
                found = _format_of(decode(line))
                if found is not None:
                    return found
            if first != b"{" or path.stat().st_size > LINE_LIMIT:
                return None
            file.seek(0)
            return _format_of_document(decode(file.read()))
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> LogNotFound:
    """The error for a path that cannot be read."""
    what = error.strerror or type(error).__name__
    return LogNotFound(
        f"Cannot read {path}: {what}.", hint="Give a session log, or the output of an agent CLI saved to a file."
    )


def _format_of(value: Any) -> LogFormat | None:
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    return _by_keys(value, value.get("type"))


def _by_keys(record: Mapping[str, Any], kind: Any) -> LogFormat | None:
    if not isinstance(kind, str):
        if record.get("jsonrpc") == "2.0":
            return LogFormat.ACP_STREAM
        if "sessionId" in record and "projectHash" in record:
            return LogFormat.GEMINI_JSON if "messages" in record else LogFormat.GEMINI_LOG
        return _format_of_document(record)
    if isinstance(record.get("payload"), dict) and "timestamp" in record:
        return LogFormat.CODEX_LOG
    if kind.startswith(("thread.", "turn.", "item.")):
        return LogFormat.CODEX_STREAM
    if "sessionID" in record:
        return LogFormat.OPENCODE_STREAM
    if "sessionId" in record or "leafUuid" in record or kind == "file-history-snapshot":
        return LogFormat.CLAUDE_LOG
    if "timestamp" in record and _gemini_stream(record, kind):
        return LogFormat.GEMINI_STREAM
    if "session_id" in record and kind in ("system", "assistant", "user", "result", "stream_event"):
        return LogFormat.CLAUDE_STREAM
    return None


def _gemini_stream(record: Mapping[str, Any], kind: str) -> bool:
    if kind == "init":
        return "session_id" in record
    return (kind == "message" and "role" in record) or (kind in ("tool_use", "tool_result") and "tool_id" in record)


def _format_of_document(value: Any) -> LogFormat | None:
    if not isinstance(value, dict):
        return None
    if "sessionId" in value and "messages" in value:
        return LogFormat.GEMINI_JSON
    if "session_id" in value and ("response" in value or "error" in value):
        return LogFormat.GEMINI_STREAM
    if value.get("type") == "result" and "session_id" in value:
        return LogFormat.CLAUDE_STREAM
    return None
