"""How are events of the log printed: as a list, or as they happen?"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from touchline.audit.selection import parse_since
from touchline.audit.visible import visible
from touchline.cli.place import opened
from touchline.cli.terminal import say
from touchline.errors import EventError, SchemaError, StoreError
from touchline.store.database import Database
from touchline.store.event_search import Wanted, before_since, search
from touchline.store.events import Event, check_patterns, follow, last_seq
from touchline.store.place import Place

PATIENCE_SECONDS = 60
"""How long `follow` waits for a database that went away, such as a server that is restarted."""
IN_VAIN = 5
"""So many failures in a row, each at once and while the database answers, are told as what they are."""


def print_list(place: Place, asked: Wanted, *, after: int | None, limit: int, as_json: bool) -> None:
    """The newest events that fit, or the next ones after a number."""
    with opened(place) as log:
        found = search(log, asked, after=after, limit=limit)
    for event in found:
        _print(event, as_json)
    if not found:
        say("No event fits.")


def print_as_they_come(place: Place, asked: Wanted, *, after: int | None, limit: int | None, as_json: bool) -> None:
    """Events as they happen, until so many were printed."""
    check_patterns(asked.patterns)
    with opened(place) as log:
        begin = _begin(log, after, asked)
        for number, event in enumerate(_followed(log, asked, begin), start=1):
            _print(event, as_json)
            sys.stdout.flush()
            if number == limit:
                return


def _followed(log: Database, wanted: Wanted, after: int) -> Iterator[Event]:
    """Events as they come; a database that goes away for a while is waited for, and nothing is missed."""
    seen, in_vain = after, 0
    while True:
        began = time.monotonic()
        try:
            for event in follow(log, seen, patterns=wanted.patterns, sources=wanted.sources):
                seen = event.seq
                if wanted.about(event):
                    yield event
        except (EventError, SchemaError):
            raise
        except StoreError as error:
            # What fails at once, again and again, while the database answers, is no outage.
            in_vain = in_vain + 1 if time.monotonic() - began < 1.0 else 0
            if in_vain == IN_VAIN:
                raise
            if in_vain == 1:
                say(error.message)
            _wait_for(log)


def _wait_for(log: Database) -> None:
    """Until the database answers again; its own error when it does not within `PATIENCE_SECONDS`."""
    until, told = time.monotonic() + PATIENCE_SECONDS, False
    while True:
        time.sleep(0.5)
        try:
            last_seq(log)
        except StoreError as error:
            if time.monotonic() > until:
                raise
            if not told:
                say(f"{error.message}\nWaiting for it, {PATIENCE_SECONDS} s at most.")
            told = True
        else:
            return


def _begin(log: Database, after: int | None, wanted: Wanted) -> int:
    if after is not None:
        return after
    return last_seq(log) if wanted.since is None else before_since(log, wanted.since)


def wanted(
    kinds: list[str] | None, sources: list[str] | None, *, build: str, task: str, session: str, since: str
) -> Wanted:
    """What the options ask for."""
    return Wanted(
        patterns=tuple(kinds or ("*",)),
        sources=tuple(sources or ()),
        build=build or None,
        task=task or None,
        session=session or None,
        since=parse_since(since, now=datetime.now().astimezone()) if since else None,
    )


def _print(event: Event, as_json: bool) -> None:
    print(json.dumps(as_dict(event), ensure_ascii=True) if as_json else _line(event, _width()))


def as_dict(event: Event) -> dict[str, Any]:
    """The event as `--json` prints it."""
    ids = event.ids
    return {
        "schema": "touchline.event/1",
        "seq": event.seq,
        "at": event.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "type": event.type,
        "version": event.version,
        "source": event.source,
        "idea": ids.idea,
        "spec": ids.spec,
        "build": ids.build,
        "task": ids.task,
        "session": ids.session,
        "cause": event.cause,
        "payload": event.payload,
    }


def _line(event: Event, width: int | None) -> str:
    """One line: number, time, type, source, what it is about, payload; cut where somebody watches."""
    ids = event.ids
    about = " ".join(each for each in (ids.session or ids.task or ids.build or ids.spec or ids.idea,) if each)
    fields = " ".join(f"{name}={_short(value)}" for name, value in event.payload.items())
    head = f"{event.seq:>6}  {event.at:%Y-%m-%d %H:%M:%S}Z  {event.type:<20}  {event.source:<10}"
    line = " ".join(visible(f"{head}  {about}  {fields}" if about else f"{head}  {fields}").splitlines()).rstrip()
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _width() -> int | None:
    if not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns
