"""When was each call of a turn heard to begin and to end? Kept beside the turn's stream: some CLIs do not tell it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from touchline.supervision.facts import Call, Event, Result, Turn


def keep(folder: Path, number: int, times: Mapping[str, Sequence[float]]) -> None:
    """Write them down. What cannot be written is not known later; no turn fails for it."""
    with suppress(OSError):
        (folder / f"times-{number}.json").write_text(json.dumps(times), encoding="utf-8")


def with_times(folder: Path, number: int, parts: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turn's streams, where they tell no time with the one at which a call, or its result, was heard."""
    if not any(isinstance(event, Call | Result) and event.at is None for part in parts for event in part.events):
        return parts
    try:
        times = json.loads((folder / f"times-{number}.json").read_text("utf-8"))
        heard = {str(id): [float(each) for each in both] for id, both in times.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return parts
    return tuple(replace(part, events=tuple(_timed(event, heard) for event in part.events)) for part in parts)


def _timed(event: Event, heard: Mapping[str, Sequence[float]]) -> Event:
    if isinstance(event, Call) and event.at is None and event.id in heard:
        return replace(event, at=_moment(heard[event.id][:1]))
    if isinstance(event, Result) and event.at is None and event.call_id in heard:
        return replace(event, at=_moment(heard[event.call_id][1:2]))
    return event


def _moment(seconds: Sequence[float]) -> datetime | None:
    return datetime.fromtimestamp(seconds[0], UTC) if seconds else None
