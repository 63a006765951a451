"""Where does a turn begin and end in a session log?

The contract of the log readers, and the loop that drives one over a file. A turn begins at a person's prompt and
lasts until the next one. How it ended:

- as the log says, where it has a record of the end (stop reason, completed task, abort, API error);
- `interrupted` when another prompt came although the turn had not ended;
- `unknown` ("no end recorded") for the newest turn of a log: it may still be running;
- `crashed` only when the CLI itself noted that the session had ended in the middle of a call.
"""

from __future__ import annotations

from touchline.supervision.facts import Call, Ended, Fault, Text, Turn, Unread
from touchline.transcripts.decode import BROKEN, decode
from touchline.transcripts.ending import NO_END, End
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.lines import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Protocol
else:
    Protocol = object  # `typing` takes as long to load as all the readers

OVERTAKEN = End(ended=Ended.INTERRUPTED, detail="a new prompt came before the turn had ended")
WAITING = 20
"""Unusable lines kept while no turn is open."""


class SessionLog(Protocol):
    """Reads the records of one log in order; `open` is the turn they add to, if one has begun."""

    open: Gathering | None

    def read(self, record: Mapping[str, Any]) -> Turn | None:
        """Take a record in; returns the turn it closed. An unknown type raises `ValueError`."""

    def close(self) -> Turn | None:
        """Close the last turn."""


def turns_of(log: SessionLog, lines: Iterable[bytes | Unread], *, skip: Callable[[bytes], object]) -> Iterator[Turn]:
    """The turns of a log of JSON lines. `skip` tells from its first bytes that a line need not be decoded."""
    waiting: list[Unread] = []
    torn: bytes | None = None
    for line in lines:
        if torn is not None:
            _note(log, waiting, Unread(why="noise", text=shown(torn)))
            torn = None
        if isinstance(line, Unread):
            _note(log, waiting, line)
            continue
        if skip(line):
            continue
        record = decode(line)
        if isinstance(record, dict):
            try:
                closed = log.read(record)
            except Exception:
                # As in `stream.read_record`: a record lost and shown, never the turn.
                _note(log, waiting, Unread(why="unknown", text=shown(line)))
                continue
            if closed is not None:
                yield closed
            if waiting and log.open is not None:
                for unread in waiting:
                    log.open.note(unread)
                waiting.clear()
        elif record is BROKEN and not line.endswith(b"\n"):
            torn = line
        elif line.strip():
            _note(log, waiting, Unread(why="noise", text=shown(line)))
    if torn is not None:
        _note(log, waiting, Unread(why="torn", text=shown(torn)))
    last = log.close()
    if last is not None:
        yield last


def nothing_skipped(_line: bytes) -> bool:
    return False


def _note(log: SessionLog, waiting: list[Unread], unread: Unread) -> None:
    if log.open is not None:
        log.open.note(unread)
    elif len(waiting) < WAITING:
        waiting.append(unread)


def answered(turn: Gathering) -> bool:
    """Whether the agent did anything in this turn."""
    return any(isinstance(event, Call | Text | Fault) for event in turn.events)


def end_of(said: End | None, *, overtaken: bool) -> End:
    """The end of a log's turn: what was said, or what the next prompt tells about it."""
    if said is not None:
        return said
    return OVERTAKEN if overtaken else NO_END
