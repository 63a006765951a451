"""What does the running CLI say, line by line?

`StreamReader` is the contract a supervisor relies on; `Stream` fulfils it for any CLI whose records a `Records`
understands. Framing, decoding, whole JSON documents and unusable lines are dealt with here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from touchline.supervision.facts import Event, Turn
from touchline.transcripts.decode import BROKEN, decode
from touchline.transcripts.ending import End, EndedBy, Process, settle
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.lines import LINE_LIMIT, shown, too_long


class StreamReader(Protocol):
    """Reads one run of a CLI while it goes on.

    `feed` takes one line of standard output and returns what it newly tells, in order; it never raises, whatever
    the line holds. `finish` is called once, when the process is gone, with what is known of it; it returns
    everything fed so far as one turn, on every path.
    """

    cli: str

    def feed(self, line: str | bytes) -> tuple[Event, ...]: ...

    def finish(
        self, *, exit_code: int | None = None, signal: int | None = None, ended_by: EndedBy | None = None
    ) -> Turn: ...


class Records(Protocol):
    """What one CLI's records mean. `turn` is the gathering they add to."""

    turn: Gathering

    def read(self, record: Mapping[str, Any]) -> bool:
        """Add what the record tells; False for a record of an unknown type."""

    def end(self, process: Process, /) -> End | None:
        """Called last: how the records say the turn ended, or None when they name no end."""


class Stream:
    """A `StreamReader` over the records of one CLI."""

    def __init__(self, records: Records) -> None:
        self.cli = records.turn.cli
        self._records = records
        self._turn = records.turn
        self._held: bytes | None = None
        self._document: list[bytes] = []
        self._document_size = 0

    def feed(self, line: str | bytes) -> tuple[Event, ...]:
        before = self._turn.added
        self._line(line.encode("utf-8", "replace") if isinstance(line, str) else bytes(line))
        return self._since(before)

    def finish(
        self, *, exit_code: int | None = None, signal: int | None = None, ended_by: EndedBy | None = None
    ) -> Turn:
        self._finish_document()
        if self._held is not None:
            self._turn.unread("torn", shown(self._held))
            self._held = None
        process = Process(exit_code=exit_code, signal=signal, ended_by=ended_by)
        end = settle(self._records.end(process), process)
        return self._turn.turn(end, exit_code=exit_code)

    def _since(self, before: int) -> tuple[Event, ...]:
        new = self._turn.added - before
        return tuple(self._turn.events[-new:]) if new else ()

    def _line(self, line: bytes) -> None:
        if len(line) > LINE_LIMIT:
            self._release_held()
            self._turn.note(too_long(line))
            return
        line = line.strip()
        if not line:
            return
        if self._document or line == b"{":
            self._collect(line)
            return
        value = decode(line)
        self._release_held()
        if value is BROKEN and line.startswith(b"{"):
            # Whether it is noise or the torn end of the stream shows only when another line comes.
            self._held = line
        else:
            self._value(value, line)

    def _value(self, value: Any, line: bytes) -> None:
        if isinstance(value, dict):
            read_record(self._records, value, line)
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for item in value:
                read_record(self._records, item, line)
        else:
            self._turn.unread("noise", shown(line))

    def _release_held(self) -> None:
        if self._held is not None:
            self._turn.unread("noise", shown(self._held))
            self._held = None

    def _collect(self, line: bytes) -> None:
        """A lone opening brace begins a document printed over several lines; it ends with the stream."""
        value = decode(line) if line.startswith(b'{"type"') else BROKEN
        if value is not BROKEN or self._document_size > LINE_LIMIT:
            self._abandon_document()
            self._line(line)
            return
        self._release_held()
        self._document.append(line)
        self._document_size += len(line)

    def _finish_document(self) -> None:
        if not self._document:
            return
        value = decode(b"\n".join(self._document))
        if isinstance(value, dict):
            read_record(self._records, value, self._document[0])
            self._document = []
        else:
            self._held = self._document.pop()
            self._abandon_document()

    def _abandon_document(self) -> None:
        lines, self._document, self._document_size = self._document, [], 0
        for line in lines:
            self._turn.unread("noise", shown(line))


def read_record(records: Records, record: Mapping[str, Any], line: bytes) -> None:
    """Read one record, whatever is in it."""
    try:
        known = records.read(record)
    except Exception:
        # The readers expect any value anywhere. Should one slip through, losing a record is better than
        # losing the turn, and the record is shown.
        known = False
    if not known:
        records.turn.unread("unknown", shown(line))
