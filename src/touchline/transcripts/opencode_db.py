"""What does OpenCode keep on disk? (`~/.local/share/opencode/opencode.db`)

Opened so that nothing is written: read-only while OpenCode has it open, and as an unchanging file else, because
a read-only connection would still create SQLite's side files. Rows are read one at a time. A session with a parent
is a helper's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from touchline.supervision.facts import Ended, Turn
from touchline.transcripts.decode import decode
from touchline.transcripts.ending import End
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.opencode_parts import add_error, add_step, add_tool
from touchline.transcripts.session_log import end_of
from touchline.transcripts.shapes import identifier, mapping, moment, text

FINISHED = {
    "stop": End(ended=Ended.FINISHED, detail="stop"),
    "length": End(ended=Ended.LIMIT, detail="max_tokens"),
    "content-filter": End(ended=Ended.FINISHED, detail="refusal"),
}
ABORTED = "MessageAbortedError"
DAMAGED = (sqlite3.Error, UnicodeDecodeError)
"""How a broken file shows; the second when SQLite's own message quotes broken text."""
_MESSAGES = """
    select s.id, s.parent_id, s.directory, m.id, m.data
    from session s join message m on m.session_id = s.id
    order by s.time_created, s.id, m.time_created, m.id
"""
_PARTS = "select data from part where message_id = ? order by id"


def connect(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing on disk."""
    in_use = path.with_name(path.name + "-wal").exists()
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=2.0)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def is_opencode(path: Path) -> bool:
    """Whether an SQLite file has OpenCode's tables."""
    try:
        with closing(connect(path)) as database:
            database.execute(_MESSAGES + " limit 0")
            database.execute(_PARTS, ("",))
    except DAMAGED:
        return False
    return True


def read_database(path: Path) -> Iterator[Turn]:
    """Every turn of every session, the oldest session first; a damaged file ends the reading early."""
    log = _Sessions()
    try:
        with closing(connect(path)) as database:
            parts = database.cursor()
            for session_id, parent_id, directory, message_id, data in database.execute(_MESSAGES):
                message = _row(data)
                closed = log.begin(session_id, parent_id, directory, message)
                if closed is not None:
                    yield closed
                for (part,) in parts.execute(_PARTS, (message_id,)):
                    try:
                        log.part(_row(part), message, identifier(message_id))
                    except Exception:
                        # As in `stream.read_record`: a part lost and shown, never the turn.
                        log.note("unknown", str(part))
                log.end(message)
    except DAMAGED as error:
        log.note("torn", str(error))
    last = log.close()
    if last is not None:
        yield last


def _row(data: Any) -> Mapping[str, Any]:
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return mapping(decode(data)) if isinstance(data, bytes) else mapping(None)


class _Sessions:
    """The open turn while walking over messages and their parts."""

    def __init__(self) -> None:
        self.turn: Gathering | None = None
        self._session: str | None = None
        self._helper = False
        self._said: End | None = None

    def begin(self, session_id: Any, parent_id: Any, directory: Any, message: Mapping[str, Any]) -> Turn | None:
        closed = None
        session = identifier(session_id)
        if session != self._session:
            closed = self.close()
        elif message.get("role") == "user" and self.turn is not None:
            closed = self.close(overtaken=True)
        self._session, self._helper = session, parent_id is not None
        if self.turn is None:
            self.turn = Gathering("opencode")
            self.turn.session_id, self.turn.cwd = session, text(directory) or None
        self.turn.seen(moment(mapping(message.get("time")).get("created")))
        return closed

    def part(self, part: Mapping[str, Any], message: Mapping[str, Any], message_id: str | None) -> None:
        turn, kind = self.turn, part.get("type")
        if turn is None:
            return
        at = moment(mapping(message.get("time")).get("created"))
        if kind == "text":
            words = text(part.get("text"))
            synthetic = part.get("synthetic") is True
            if message.get("role") == "user" or synthetic:
                turn.prompt(words, at=at, synthetic=synthetic or self._helper)
            else:
                turn.text(words, message_id=message_id, at=at)
        elif kind == "tool":
            started = moment(mapping(mapping(part.get("state")).get("time")).get("start"))
            add_tool(turn, part, at=turn.seen(started), subagent=self._helper)
        elif kind == "step-finish":
            add_step(turn, part, model=text(message.get("modelID")) or None)

    def end(self, message: Mapping[str, Any]) -> None:
        if self.turn is None or message.get("role") != "assistant":
            return
        self.turn.model = text(message.get("modelID")) or self.turn.model
        at = self.turn.seen(moment(mapping(message.get("time")).get("completed")))
        error = mapping(message.get("error"))
        if error.get("name") == ABORTED:
            self._said = End(ended=Ended.INTERRUPTED, detail="aborted")
        elif error:
            detail = add_error(self.turn, error, at=at, fatal=True)
            self._said = End(ended=Ended.API_ERROR, detail=detail)
        else:
            self._said = FINISHED.get(text(message.get("finish")))

    def note(self, why: Literal["torn", "unknown"], words: str) -> None:
        if self.turn is not None:
            self.turn.unread(why, words)

    def close(self, *, overtaken: bool = False) -> Turn | None:
        turn, said = self.turn, self._said
        self.turn, self._said = None, None
        return None if turn is None else turn.turn(end_of(said, overtaken=overtaken))
