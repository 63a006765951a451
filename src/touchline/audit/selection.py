"""Which logs are audited?

Those of the installed agents in their usual folders, or the files and folders a person names. A file that looks like
a log and is none of a known agent is reported, not passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from touchline.audit.findings import SessionFinding, Unreadable
from touchline.errors import InputError, LogNotFound
from touchline.transcripts import LogFile, find_logs, sniff

LOG_SUFFIXES = frozenset({".jsonl", ".json", ".db"})
"""Suffixes of the logs that agents write; other files of a folder are not looked at."""
UNKNOWN = "not a session log of a known agent"

_SPANS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SINCE_EXAMPLES = "Examples: 24h, 7d, 2w, 2026-03-01, 2026-03-01T09:30."


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which sessions count. Empty filters keep all."""

    since: datetime | None = None
    """Sessions that were active at or after this time, judged as a whole."""
    project: str = ""
    """Sessions whose working folder contains this text, upper and lower case alike."""
    agents: tuple[str, ...] = ()

    def keep(self, session: SessionFinding) -> bool:
        if self.agents and session.agent not in self.agents:
            return False
        if self.project and self.project.casefold() not in (session.project or session.path).casefold():
            return False
        last = session.ended_at or session.started_at
        return self.since is None or last is None or last >= self.since


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The logs to audit, and the files that are none."""

    logs: tuple[LogFile, ...]
    unreadable: tuple[Unreadable, ...] = ()


def choose(paths: Iterable[Path] = (), *, filters: Filters | None = None) -> Chosen:
    """The logs under `paths`, or those of the installed agents when there are none.

    A file last changed before `filters.since` cannot hold a newer session and is left out unread.
    """
    filters = filters or Filters()
    paths = tuple(paths)
    found: dict[str, LogFile] = {}
    unreadable: dict[str, Unreadable] = {}
    candidates = _named(paths) if paths else find_logs(agents=filters.agents or None)
    for one in candidates:
        if isinstance(one, Unreadable):
            unreadable.setdefault(one.path, one)
        elif _in_question(one, filters):
            found.setdefault(os.path.realpath(one.path), one)
    return Chosen(logs=tuple(found.values()), unreadable=tuple(unreadable.values()))


def parse_since(text: str, *, now: datetime) -> datetime:
    """`7d`, `24h`, a date or a time; one without a zone is taken in the zone of `now`."""
    span = re.fullmatch(r"\s*(\d{1,6})\s*([mhdw])\s*", text)
    try:
        if span:
            return now - timedelta(**{_SPANS[span[2]]: int(span[1])})
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise InputError(f"--since: {text!r} is neither a time nor a span.", hint=_SINCE_EXAMPLES) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo or UTC)


def _in_question(log: LogFile, filters: Filters) -> bool:
    if filters.agents and log.cli not in filters.agents:
        return False
    return filters.since is None or log.modified >= filters.since


def _named(paths: Collection[Path]) -> Iterator[LogFile | Unreadable]:
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path)
        elif path.exists():
            yield _judged(path)
        else:
            raise InputError(f"No such file or folder: {path}", hint="Give a session log or a folder of logs.")


def _in_folder(folder: Path) -> Iterator[LogFile | Unreadable]:
    barred: list[Unreadable] = []

    def note(error: OSError) -> None:
        barred.append(Unreadable(path=str(error.filename), why=_why(error), size=0))

    for root, folders, names in os.walk(folder, onerror=note):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix in LOG_SUFFIXES:
                yield _judged(path)
    yield from barred


def _judged(path: Path) -> LogFile | Unreadable:
    size = 0
    try:
        state = path.stat()
        size = state.st_size
        if not path.is_file():
            return Unreadable(path=str(path), why="not a regular file", size=0)
        found = sniff(path)
    except OSError as error:
        return Unreadable(path=str(path), why=_why(error), size=size)
    except LogNotFound as error:
        return Unreadable(path=str(path), why=error.message, size=size)
    if found is None:
        return Unreadable(path=str(path), why=UNKNOWN if size else "empty file", size=size)
    return LogFile(path=path, cli=found.cli, size=size, modified=datetime.fromtimestamp(state.st_mtime, UTC))


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
