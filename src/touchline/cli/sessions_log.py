"""What was said and done in a session? Its streams, read again by the agent's own driver, turn by turn."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.audit.visible import one_line, visible
from touchline.cli.place import looked_at
from touchline.cli.progress import call_words
from touchline.cli.terminal import console, say, text
from touchline.errors import InputError
from touchline.supervision.facts import Call, Event, Fault, Result, Text

if TYPE_CHECKING:
    from touchline.sessions.records import SessionRecord, TurnRecord
    from touchline.store.place import Place

_RESULT_LINES = 8
_WIDE = 400
_CHUNK = 1 << 16


def print_log(place: Place, name: str, *, turn: int | None, raw: bool, as_json: bool) -> None:
    """The transcript, or the raw stream."""
    from touchline.sessions.records import session_record, turns_of_session

    if raw and as_json:
        raise InputError("--raw and --json do not go together.", hint="The raw stream is what the CLI wrote: see it.")
    with looked_at(place) as database, database.reading() as connection:
        record = session_record(connection, name)
        turns = turns_of_session(connection, record.id)
    chosen = [each for each in turns if turn in (None, each.number)]
    if turn is not None and not chosen:
        raise InputError(f"--turn: the session {record.id} has {len(turns)} turns, not {turn}.", hint="Leave it out.")
    if not chosen:
        say("No turn has begun yet.")
    folder = _folder(place, record)
    for each in chosen:
        if raw:
            _print_raw(folder, each)
        elif as_json:
            for line in _lines(record, each, folder):
                print(json.dumps({"turn": each.number, **line}, ensure_ascii=True))
        else:
            _print_turn(record, each, folder)


def _folder(place: Place, record: SessionRecord) -> Path:
    from touchline.sessions.room import sessions_folder

    return sessions_folder(place, env=os.environ, home=Path.home()) / record.id


def _streams(folder: Path, turn: TurnRecord) -> Iterator[Path]:
    from touchline.sessions.raw import raw_file

    for beginning in range(1, turn.beginnings + 1):
        yield raw_file(folder, turn.number, beginning)


def _print_raw(folder: Path, turn: TurnRecord) -> None:
    for path in _streams(folder, turn):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                while chunk := file.read(_CHUNK):
                    sys.stdout.write(visible(chunk) if sys.stdout.isatty() else chunk)
        except OSError as error:
            say(f"{path}: {error.strerror}")


def _lines(record: SessionRecord, turn: TurnRecord, folder: Path) -> Iterator[dict[str, Any]]:
    """All of a turn: what it was told, then events in their order."""
    yield {"kind": "told", "text": turn.prompt}
    for event in _events(record, turn, folder):
        match event:
            case Text(text=words) if words.strip():
                yield {"kind": "said", "text": words}
            case Call(id=id, tool=tool, args=args):
                yield {"kind": "called", "call": id, "tool": tool, "args": dict(args)}
            case Result(call_id=id, text=words, failed=failed, exit_code=code):
                yield {"kind": "answered", "call": id, "failed": failed, "exit_code": code, "text": words}
            case Fault(kind=kind, message=words):
                yield {"kind": "fault", "fault": kind, "text": words}
            case _:
                pass


def _events(record: SessionRecord, turn: TurnRecord, folder: Path) -> tuple[Event, ...]:
    from touchline.agents.registry import driver_named
    from touchline.sessions.raw import heard

    missing = [path for path in _streams(folder, turn) if not path.exists()]
    for path in missing:
        say(f"{path} is not here (any more); turn {turn.number} is told from what the database has.")
    if missing and len(missing) == turn.beginnings:
        return (Text(text=turn.final_text),)
    return heard(driver_named(record.agent), record, folder, turn).whole.events


def _print_turn(record: SessionRecord, turn: TurnRecord, folder: Path) -> None:
    out = console()
    out.print(text(f"── Turn {turn.number} ({turn.kind}) ", "bold"))
    for line in _lines(record, turn, folder):
        match line["kind"]:
            case "told":
                _print_block(">", line["text"], "yellow")
            case "said":
                _print_block(" ", line["text"], "")
            case "called":
                out.print(text(f"  • {call_words(line, record.workspace)}", "cyan"), soft_wrap=True)
            case "answered":
                _print_answer(line)
            case _:
                out.print(text(f"  ! {one_line(line['text'], _WIDE)}", "red"), soft_wrap=True)
    if turn.stopped:
        out.print(text(f"  ! ended by Touchline: {one_line(turn.stopped, _WIDE)}", "yellow"), soft_wrap=True)
    out.print()


def _print_block(mark: str, words: str, style: str) -> None:
    out = console()
    for line in words.strip().splitlines():
        out.print(text(f"{mark} {line}".rstrip(), style), soft_wrap=True)


def _print_answer(line: dict[str, Any]) -> None:
    out = console()
    lines = [each for each in str(line["text"] or "").splitlines() if each.strip()]
    # The end of a long output tells most: that is where test runners sum up.
    left = len(lines) - _RESULT_LINES
    if left > 0:
        out.print(text(f"      … {left} lines more", "dim"))
    for each in lines[-_RESULT_LINES:]:
        out.print(text(f"      {one_line(each, _WIDE)}", "red" if line["failed"] else "dim"), soft_wrap=True)
