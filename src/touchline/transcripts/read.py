"""What did the agent do?

The door of this room: the output of a CLI, live or saved, and the logs the CLIs keep, all to the same `Turn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from touchline.errors import InputError
from touchline.supervision.facts import Turn, Unread, Usage
from touchline.transcripts import claude_log, codex_log
from touchline.transcripts.acp import AcpRecords
from touchline.transcripts.claude import ClaudeRecords
from touchline.transcripts.codex import CodexRecords
from touchline.transcripts.decode import decode, encode
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.formats import LogFormat, sniff, unreadable
from touchline.transcripts.gemini import GeminiRecords
from touchline.transcripts.gemini_log import GeminiLog
from touchline.transcripts.lines import BUFFER, LINE_LIMIT, lines_of
from touchline.transcripts.opencode import OpenCodeRecords
from touchline.transcripts.session_log import nothing_skipped, turns_of
from touchline.transcripts.shapes import items, mapping
from touchline.transcripts.stream import Records, Stream, StreamReader

_RECORDS: dict[str, Callable[[], Records]] = {
    "claude": ClaudeRecords,
    "codex": CodexRecords,
    "opencode": OpenCodeRecords,
    "gemini": GeminiRecords,
    "acp": AcpRecords,
}
CLIS = tuple(_RECORDS)


def reader_for(cli: str, *, thread_usage: Usage | None = None) -> StreamReader:
    """A reader for one run of a CLI, to be fed while the run goes on.

    `thread_usage` is what a resumed Codex thread had spent before: Codex tells only the sum.
    """
    if cli not in CLIS:
        raise InputError(f"Unknown agent CLI {cli!r}.", hint=f"Known are {', '.join(CLIS)}.")
    if cli == "codex" and thread_usage is not None:
        return Stream(CodexRecords(counted=thread_usage))
    return Stream(_RECORDS[cli]())


def read_turn(
    lines: Iterable[str | bytes] | str | bytes,
    *,
    cli: str,
    exit_code: int | None = None,
    signal: int | None = None,
    ended_by: EndedBy | None = None,
    thread_usage: Usage | None = None,
) -> Turn:
    """A CLI's whole output as one turn, with what is known of its process.

    `lines` are the lines of standard output, or all of it as one text. Nothing in them raises.
    """
    reader = reader_for(cli, thread_usage=thread_usage)
    for line in lines.splitlines() if isinstance(lines, str | bytes) else lines:
        reader.feed(line)
    return reader.finish(exit_code=exit_code, signal=signal, ended_by=ended_by)


def read_log(path: str | Path) -> Iterator[Turn]:
    """Every turn of a session log, one at a time, oldest first; nothing for a file that is no known log.

    Reads the logs of Claude Code, Codex, OpenCode and Gemini CLI, and their output saved to a file. Raises
    `LogNotFound` when the path cannot be read.
    """
    path = Path(path)
    found = sniff(path)
    if found is None:
        return
    if found is LogFormat.OPENCODE_DB:
        from touchline.transcripts.opencode_db import read_database

        yield from read_database(path)
        return
    try:
        with path.open("rb", buffering=BUFFER) as file:
            yield from _turns(found, file, path)
    except OSError as error:
        raise unreadable(path, error) from error


def _turns(found: LogFormat, file: BinaryIO, path: Path) -> Iterator[Turn]:
    if found is LogFormat.CLAUDE_LOG:
        return turns_of(claude_log.ClaudeLog(), lines_of(file), skip=claude_log.skip)
    if found is LogFormat.CODEX_LOG:
        return turns_of(codex_log.CodexLog(), lines_of(file), skip=codex_log.skip)
    if found is LogFormat.GEMINI_LOG:
        return turns_of(GeminiLog(project=_gemini_project(path)), lines_of(file), skip=nothing_skipped)
    if found is LogFormat.GEMINI_JSON:
        return _gemini_document(file, path)
    return _saved_stream(found.cli, file)


def _gemini_project(path: Path) -> str | None:
    """The project's folder name: `tmp/<project>/chats/<file>`."""
    return path.absolute().parent.parent.name if path.absolute().parent.name == "chats" else None


def _gemini_document(file: BinaryIO, path: Path) -> Iterator[Turn]:
    """Older Gemini logs are one document, rewritten at every message and therefore never large."""
    document = mapping(decode(file.read(LINE_LIMIT)))
    log = GeminiLog(project=_gemini_project(path))
    head = {"sessionId": document.get("sessionId")}
    records = (head, *items(document.get("messages")))
    return turns_of(log, (encode(record) + b"\n" for record in records), skip=nothing_skipped)


def _saved_stream(cli: str, file: BinaryIO) -> Iterator[Turn]:
    """Saved output; Claude Code's may hold several prompts, each ended by a `result`."""
    records = _RECORDS[cli]()
    reader = Stream(records)
    for line in lines_of(file):
        if isinstance(line, Unread):
            records.turn.note(line)
            continue
        reader.feed(line)
        if isinstance(records, ClaudeRecords) and records.results:
            yield reader.finish()
            following = ClaudeRecords(told_usd=records.told_usd)
            following.turn.session_id = records.turn.session_id
            following.turn.model, following.turn.cwd = records.turn.model, records.turn.cwd
            records, reader = following, Stream(following)
    if records.turn.events or not isinstance(records, ClaudeRecords):
        yield reader.finish()
