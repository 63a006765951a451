"""What happened in the published research runs?

Reads the plain trace files (`.jsonl` or `.jsonl.gz`) that the benchmarks are measured on. Such a file is
trusted data, not an agent's output: a broken one is reported, not skipped.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from touchline.digests import digest
from touchline.errors import InputError, LogNotFound
from touchline.supervision.facts import Call, Ended, Event, Prompt, Result, Text, Turn
from touchline.supervision.values import Value

ENDS = {"finished": Ended.FINISHED, "max_iter": Ended.LIMIT, "stuck_loop": Ended.KILLED}


class Trace(Value):
    """One run. What an unlabelled file does not tell is None."""

    id: str
    turn: Turn
    instance: str | None = None
    model: str | None = None
    end: str | None = None
    """`finished`, `max_iter` or `stuck_loop`, in the words of the file."""
    outcome: str | None = None
    """`resolved`, `unresolved`, `empty_patch`, `not_evaluated` or `error`."""


def read_traces(path: str | Path) -> Iterator[Trace]:
    """Every run of a trace file, one at a time."""
    path = Path(path)
    if not path.is_file():
        raise LogNotFound(f"No trace file at {path}.", hint="Give a .jsonl or .jsonl.gz file of research traces.")
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield _trace(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{path}, line {number}, is not a trace ({type(error).__name__}: {error}).",
                    hint="Each line is an object with `id` and `events`.",
                ) from error


def _trace(record: dict[str, Any]) -> Trace:
    end = record.get("end")
    turn = Turn(
        cli="trace",
        session_id=record["id"],
        model=record.get("model"),
        events=_events(record["events"]),
        ended=ENDS.get(end, Ended.UNKNOWN) if end else Ended.UNKNOWN,
        end_detail=end or "",
    )
    return Trace(
        id=record["id"],
        turn=turn,
        instance=record.get("instance"),
        model=record.get("model"),
        end=end,
        outcome=record.get("outcome"),
    )


def _events(records: list[dict[str, Any]]) -> tuple[Event, ...]:
    """A result answers the oldest call of its batch; a batch of calls ends with a text or a person's words.

    A call without a result stays open for ever, and a result without a call is given a call id of its own.
    """
    events: list[Event] = []
    waiting: list[str] = []
    for index, record in enumerate(records):
        kind = record["kind"]
        if kind in ("text", "user"):
            waiting.clear()
        if kind == "text":
            events.append(Text(text=record["text"]))
        elif kind == "user":
            events.append(Prompt(text=record["text"]))
        elif kind == "call":
            waiting.append(f"call_{index}")
            events.append(Call(id=waiting[-1], tool=record["tool"], args=record["args"]))
        elif kind == "result":
            exit_code = record.get("exit_code")
            events.append(
                Result(
                    call_id=waiting.pop(0) if waiting else f"unasked_{index}",
                    text=record["text"],
                    digest=record.get("sha") or digest(record["text"]),
                    failed=bool(record.get("error")) or exit_code not in (None, 0),
                    exit_code=exit_code,
                )
            )
        else:
            raise ValueError(f"unknown kind {kind!r}")
    return tuple(events)
