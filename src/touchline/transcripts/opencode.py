"""What does OpenCode print? (`opencode run --format json`)

There is no first and no final record: the turn is over when the process is, and it finished only when the last
step's reason is `stop`. A call shows only once it is done, so one that hangs is invisible here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from touchline.supervision.facts import Ended
from touchline.transcripts.ending import End, Process
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.opencode_parts import add_error, add_step, add_tool
from touchline.transcripts.shapes import identifier, mapping, moment, text

STOP = "stop"


class OpenCodeRecords:
    """The records of one run."""

    def __init__(self) -> None:
        self.turn = Gathering("opencode")
        self._reason: str | None = None
        self._error: tuple[Any, datetime | None] | None = None
        self._recovered: Any = None
        self._rejected = False

    def read(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        at = self.turn.seen(moment(record.get("timestamp")))
        if self.turn.session_id is None:
            self.turn.session_id = identifier(record.get("sessionID"))
        part = mapping(record.get("part"))
        if kind != "error":
            # Something followed, so the error before it was not the end.
            self._note_error(fatal=False)
        if kind == "step_start":
            self._reason = None
        elif kind == "text":
            self._text(part, at)
        elif kind == "tool_use":
            self._rejected = add_tool(self.turn, part, at=at)
        elif kind == "step_finish":
            self._reason = text(part.get("reason"))
            add_step(self.turn, part)
        elif kind == "error":
            self._note_error(fatal=False)
            self._error = (record.get("error"), at)
        else:
            return kind == "reasoning"
        return True

    def end(self, process: Process, /) -> End | None:
        """The errored or unfinished step ends the turn only when the process is known to be gone."""
        if self._error is not None:
            if process.exit_code == 0 and self._reason == STOP:
                self._note_error(fatal=False)
                return End(ended=Ended.FINISHED, detail=STOP)
            return End(ended=Ended.API_ERROR, detail=self._note_error(fatal=True))
        if self._reason == STOP:
            if self._recovered and process.exit_code == 1:
                # It went on after the error, but its exit code still tells of it.
                return End(ended=Ended.API_ERROR, detail=add_error(self.turn, self._recovered, at=None, fatal=True))
            return End(ended=Ended.FINISHED, detail=STOP)
        if self._rejected and self._reason and process.exit_code == 0:
            self.turn.fault("permission", "a call was refused and nobody was there to allow it", fatal=True)
            return End(ended=Ended.INTERRUPTED, detail="permission rejected")
        return None

    def _text(self, part: Mapping[str, Any], at: datetime | None) -> None:
        words = text(part.get("text"))
        if part.get("synthetic") is True:
            if words:
                self.turn.prompt(words, at=at, synthetic=True)
        else:
            self.turn.text(words, message_id=identifier(part.get("messageID")), at=at)

    def _note_error(self, *, fatal: bool) -> str:
        if self._error is None:
            return ""
        error, at = self._error
        self._error, self._recovered = None, error
        return add_error(self.turn, error, at=at, fatal=fatal)
