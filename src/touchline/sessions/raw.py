"""What did the agents write, word for word? The raw streams of each session, read again as turns, kept within limits.

A turn whose process died with Touchline has more than one stream: `turn-2.jsonl` is the torn one, `turn-2.2.jsonl` what
came after. Both are evidence.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from touchline.agents.port import Driver, Request
from touchline.sessions.records import SessionRecord, TurnRecord
from touchline.supervision.facts import Ended, Turn, Usage
from touchline.transcripts.ending import EndedBy
from touchline.transcripts.lines import LINE_LIMIT

ESTIMATED = "estimated_usd"
KEEP_DAYS = 90.0
KEEP_BYTES = 5 * 1024**3
_ERROR_CHARACTERS = 8_000
_BY: dict[str | None, EndedBy] = {"timed_out": "timeout", "killed": "us", "interrupted": "user"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A turn as its streams tell it."""

    record: TurnRecord
    parts: tuple[Turn, ...]
    """One per stream: call ids may begin anew in each."""
    whole: Turn
    """All of them as one: for what was said, not for pairing calls and results."""


def raw_file(folder: Path, number: int, beginning: int) -> Path:
    """Where the stream of a turn goes."""
    return folder / (f"turn-{number}.jsonl" if beginning == 1 else f"turn-{number}.{beginning}.jsonl")


def heard(driver: Driver, session: SessionRecord, folder: Path, turn: TurnRecord) -> Heard:
    """Read a turn's streams again. What is missing is missing; nothing here raises for the content of a line."""
    parts = [
        part_heard(driver, session, raw_file(folder, turn.number, n), turn if n == turn.beginnings else None)
        for n in range(1, turn.beginnings + 1)
    ]
    last = parts[-1]
    if turn.ended is not None:
        # The process is long gone: what the row says of its end was seen, what the stream suggests is a guess.
        last = replace(
            last,
            ended=Ended(turn.ended),
            end_detail=turn.end_detail,
            exit_code=turn.exit_code,
            session_id=turn.cli_session_id or last.session_id,
            usage_by_model=usage_from_json(turn.usage),
            usage=sum(usage_from_json(turn.usage).values(), Usage()),
            cost_usd=turn.cost_usd,
        )
        parts[-1] = last
    whole = replace(last, events=tuple(event for part in parts for event in part.events))
    return Heard(record=turn, parts=tuple(parts), whole=whole)


def part_heard(driver: Driver, session: SessionRecord, path: Path, turn: TurnRecord | None) -> Turn:
    """One stream, through the driver's own ears; `turn` is None for one that was torn off."""
    request = Request(prompt="", workspace=Path(session.workspace), settings=session.asked.settings)
    conversation = driver.converse(request)
    conversation.open()
    try:
        with path.open("rb") as file:
            while line := file.readline(LINE_LIMIT):
                conversation.hear(line.rstrip(b"\r\n"))
    except OSError:
        pass
    if turn is None:
        return conversation.finish(exit_code=None)
    ended_by = _BY.get(turn.ended) if turn.stopped else None
    return conversation.finish(exit_code=turn.exit_code, ended_by=ended_by, errors=_errors(path))


def usage_to_json(
    usage: Mapping[str, Usage], estimated: Mapping[str, float] | None = None
) -> dict[str, dict[str, int | float]]:
    """Tokens by model, with what they cost where that had to be estimated."""
    return {
        model: {
            "input": each.input,
            "output": each.output,
            "cache_read": each.cache_read,
            "cache_write": each.cache_write,
            **({ESTIMATED: estimated[model]} if estimated else {}),
        }
        for model, each in usage.items()
    }


def usage_from_json(value: object) -> dict[str, Usage]:
    if not isinstance(value, dict):
        return {}
    return {model: Usage(**{name: n for name, n in each.items() if name != ESTIMATED}) for model, each in value.items()}


def prune(
    folder: Path,
    *,
    ended: Collection[str],
    only_by_age: Collection[str] = (),
    days: float = KEEP_DAYS,
    most: int = KEEP_BYTES,
    now: float | None = None,
) -> tuple[str, ...]:
    """Remove the streams of `ended` sessions older than `days`, then the oldest until at most `most` bytes are left.

    Those in `only_by_age` do not make room for others. All that is not `ended` stays: sessions that are not over, and
    those of another database whose folder is the same. Returns whose were removed.
    """
    moment = time.time() if now is None else now
    there = [path for path in folder.iterdir() if path.name in ended] if folder.is_dir() else []
    found = sorted((_newest(path), path) for path in there)
    sizes = {path: sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) for _, path in found}
    left = sum(sizes.values())
    removed: list[str] = []
    for at, path in found:
        if moment - at <= days * 86_400 and (left <= most or path.name in only_by_age):
            continue
        shutil.rmtree(path, ignore_errors=True)
        left -= sizes[path]
        removed.append(path.name)
    return tuple(removed)


def _newest(path: Path) -> float:
    return max((f.stat().st_mtime for f in (path, *path.glob("*"))), default=0.0)


def _errors(path: Path) -> str:
    try:
        return path.with_name(path.name + ".err").read_text("utf-8", "replace")[-_ERROR_CHARACTERS:]
    except OSError:
        return ""
