"""How does a worker show that it lives? Lines on standard error, and a heartbeat with start and end in the log."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from touchline.cli.exits import Exit
from touchline.cli.terminal import say

if TYPE_CHECKING:
    from touchline.store.database import Database, Purpose
    from touchline.store.place import Place

BEAT_SECONDS = 30.0
AWAY_SECONDS = 2.0
"""How soon a beat is tried again when the database does not answer."""
LAST_WORD_SECONDS = 5.0
"""How long the end of a worker may take to be written down."""


def run(place: Place, *, slots: int | None, name: str, purpose: Purpose) -> NoReturn:
    """Work until told to stop, then leave with the exit code that fits."""
    from touchline.engine.worker import leave, run_worker
    from touchline.store.migrate import open_database

    name = name or f"{socket.gethostname()[:60]}.{os.getpid()}"
    _log_to_stderr()
    say(f"Worker {name} starts on {place}.")
    with open_database(place.url, purpose=purpose) as database, _living(place, database, name):
        end = run_worker(place, slots=slots, purpose=purpose)
    if end.leftovers:
        say(f"Ended {end.leftovers} processes that an earlier worker had left behind.")
    if end.unfinished:
        say(f"Handed back unfinished: {end.unfinished}. The next worker goes on with them.")
    if end.reason == "fenced":
        say("The others took this worker for dead and went on with its work. Start it anew.")
        leave(end, Exit.FOUND)
    say(f"Worker {name} has ended.")
    leave(end, Exit.DONE)


@contextmanager
def _living(place: Place, database: Database, name: str) -> Iterator[None]:
    """Beat from the moment on that this process runs the work, and tell its end."""
    ended = threading.Event()
    thread = threading.Thread(target=_beat, args=(place, database, name, ended), name="touchline-alive", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=LAST_WORD_SECONDS)


def _beat(place: Place, database: Database, name: str, ended: threading.Event) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from touchline.coordination.heartbeats import beat, stop
    from touchline.coordination.leases import expire
    from touchline.errors import TouchlineError

    if not _at_work(place, ended):
        return
    say(f"Worker {name} is at work (process {os.getpid()}). Ctrl-C ends it.")
    over = False
    while not over:
        try:
            beat(database, component=f"worker:{name}", kind="worker")
            expire(database)
            over = ended.wait(BEAT_SECONDS)
            if over:
                stop(database, f"worker:{name}", reason="ended")
        except (TouchlineError, SQLAlchemyError) as error:
            # A server that is restarted comes back, and the engine waits for it too.
            logging.getLogger("touchline.cli").warning("heartbeat of %s: %s", name, error)
            over = ended.wait(AWAY_SECONDS)


def _at_work(place: Place, ended: threading.Event) -> bool:
    """Wait until this process has the right to run the work; False when it never gets it."""
    from touchline.engine.opening import supervisor_lock

    if place.path is None:
        return True
    lock = supervisor_lock(place.path)
    while not ended.is_set():
        try:
            if lock.read_text(encoding="ascii").strip() == str(os.getpid()):
                return True
        except OSError:
            pass
        ended.wait(0.1)
    return False


def _log_to_stderr() -> None:
    """What the engine tells, such as a takeover, as lines on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    ours = logging.getLogger("touchline")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
