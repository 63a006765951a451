"""A person's words to a session: go on, or stop. Said once, whoever runs it, and seen through."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from touchline.cli.exits import Exit
from touchline.cli.place import command, purpose
from touchline.cli.result import short
from touchline.cli.run_post import Post, supervised
from touchline.cli.run_session import accompany, who
from touchline.cli.sheet import print_json
from touchline.cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from touchline.sessions.records import SessionRecord
    from touchline.store.database import Database
    from touchline.store.place import Place

_STOP_SECONDS = 60.0


def found(post: Post, name: str) -> str:
    """The whole id of a session."""
    return _record(post.database, name).id


def resumed(place: Place, name: str, message: str, *, as_json: bool, wait: bool) -> int:
    """Let it go on, and stay with it."""
    from touchline.sessions.stopping import resume_session

    def begin(post: Post) -> str:
        return resume_session(post.engine, post.database, found(post, name), message, by=who())

    require(place)
    _settle(place, name)
    if wait:
        return accompany(place, begin, as_json=as_json)
    with Post(place, purpose=purpose(), drive=False) as post:
        id = begin(post)
    there = supervised(place)
    if as_json:
        print_json("touchline.started/1", {"session": id, "status": "resumed", "runs": there or None})
    else:
        print(id)
    if not there and place.path is not None:
        say(f"Nothing runs it yet: start `{command('worker')}`, or `{command(f'sessions follow {short(id)}')}`.")
    return Exit.DONE


def stopped(place: Place, name: str, *, as_json: bool) -> int:
    """Ask it to stop and wait until it has. Where nothing runs it, it is stopped here and now."""
    from touchline.sessions.stopping import stop_session

    require(place)
    with Post(place, purpose=purpose(), drive=False) as post:
        id = found(post, name)
        before = _record(post.database, id).status
        stop_session(post.engine, post.database, id, by=who())
        until = time.monotonic() + _STOP_SECONDS
        while not (record := _record(post.database, id)).ended and time.monotonic() < until:
            _stop_unattended(post, record)
            time.sleep(0.1)
    if as_json:
        print_json("touchline.stopped/1", {"session": id, "status": record.status, "before": before})
    elif record.status == "stopped" and before != "stopped":
        say(f"Stopped. Go on with: {command(f'sessions resume {short(id)}')}")
    elif record.ended:
        say(f"It had ended before: it is {record.status}.")
    else:
        say(f"It was told to stop {_STOP_SECONDS:.0f} s ago and is still {record.status}.")
    return Exit.DONE if record.ended else Exit.FOUND


def _settle(place: Place, name: str) -> None:
    """What was torn off, by a second Ctrl-C or a crash, is running in name only: it is stopped first, to go on then."""
    with Post(place, purpose=purpose(), drive=False) as post:
        record = _record(post.database, name)
        if record.status in ("starting", "running"):
            _stop_unattended(post, record)


def _stop_unattended(post: Post, record: SessionRecord) -> None:
    """A session whose process died is running in name only. With the right to run it in hand, nobody can begin it."""
    from touchline.sessions.stopping import parked_job
    from touchline.sessions.stopping import stopped as write_stopped

    with _right_to_run(post.place) as mine:
        if not mine:
            return
        with post.database.writing() as connection:
            write_stopped(connection, record, by=record.stop_by or who())
        answering = record.state.answering
        post.engine.cancel(parked_job(answering) if answering else record.job)


@contextmanager
def _right_to_run(place: Place) -> Iterator[bool]:
    from touchline.engine.opening import supervisor_lock
    from touchline.store.locks import HeldLock

    held = HeldLock.take(supervisor_lock(place.path)) if place.path is not None else None
    try:
        yield held is not None
    finally:
        if held is not None:
            held.release()


def _record(database: Database, name: str) -> SessionRecord:
    from touchline.sessions.records import session_record

    with database.reading() as connection:
        return session_record(connection, name)


def require(place: Place) -> None:
    """A database that is not there is not made just to find nothing in it."""
    from touchline.cli.place import looked_at

    looked_at(place).close()
