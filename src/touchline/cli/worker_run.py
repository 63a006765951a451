"""How does a worker show that it lives? Lines on standard error, and a heartbeat with start and end in the log."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from touchline.cli.exits import Exit
from touchline.cli.log_file import LogHandler, log_file
from touchline.cli.place import hint_of
from touchline.cli.terminal import say
from touchline.errors import InputError, ServerAway, StoreError, TouchlineError

if TYPE_CHECKING:
    from touchline.store.database import Database, Purpose
    from touchline.store.place import Place

BEAT_SECONDS = 30.0
SEND_SECONDS = 5.0
"""How often the outbox is looked at: the first back-off of a delivery that failed."""
AWAY_SECONDS = 2.0
"""How soon a beat is tried again when the database does not answer."""
LAST_WORD_SECONDS = 5.0
"""How long the end of a worker may take to be written down."""
MAX_NAME = 100


def run(place: Place, *, slots: int | None, name: str, wait: float, purpose: Purpose) -> NoReturn:
    """Work until told to stop, then leave with the exit code that fits. A server that is away is waited for."""
    from touchline.coordination.leases import release_dead
    from touchline.engine.worker import leave, run_worker
    from touchline.roles.working import know_workflows
    from touchline.sessions.room import open_room
    from touchline.settings.loading import settings_for

    know_workflows()
    limits = settings_for({}, os.environ, Path.cwd(), Path.home()).limits()
    name = _checked(name or f"{socket.gethostname()[:60]}.{os.getpid()}")
    _log_to_stderr()
    say(f"Worker {name} starts on {place}.")
    rooms = ExitStack()
    with _opened(place, purpose, wait) as database, _living(database, name) as began:
        rooms.enter_context(open_room(place, database, env=os.environ, home=Path.home(), limits=limits))
        end = run_worker(
            place,
            slots=slots,
            purpose=purpose,
            when_dead=partial(release_dead, database),
            ready=partial(_ready, place, database, began),
        )
    if not end.unfinished:
        # With work left, nothing is taken from under it: its threads end with the process.
        rooms.close()
    if end.leftovers:
        say(f"Ended {end.leftovers} processes that an earlier worker had left behind.")
    if end.unfinished:
        say(f"Not finished: {end.unfinished}. The next worker goes on with them.")
    if end.reason == "fenced":
        say("This worker was silent for so long that the others took over its work, or may have. Start it anew.")
        leave(end, Exit.FOUND)
    if end.error is not None:
        leave(end, _told(end.error))
    say(f"Worker {name} has ended.")
    leave(end, Exit.DONE)


def _told(error: Exception) -> Exit:
    if isinstance(error, TouchlineError):
        say(f"touchline: {error.message}\n{hint_of(error)}".rstrip())
        return Exit.USAGE
    traceback.print_exception(error)
    return Exit.UNEXPECTED


def _ready(place: Place, database: Database, began: Callable[[], None]) -> None:
    """This process runs the work now: it says so, and puts in order what a dead one left half-way."""
    from touchline.engine.opening import connect_engine
    from touchline.engine.retention import forget_old
    from touchline.roles.build.pruning import prune_builds
    from touchline.roles.build.reconciling import reconcile_builds
    from touchline.sessions.reconciling import reconcile
    from touchline.sessions.room import current_room

    began()
    outside = connect_engine(place)
    try:
        prune_builds(current_room())
        reconcile(outside, database)
        reconcile_builds(outside, current_room())
        forget_old(outside, database)
    finally:
        outside.close()


def _checked(name: str) -> str:
    if len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise InputError(
            f"--name: {name[:60]!r} is no name of a worker.",
            hint=f"Use 1 to {MAX_NAME} characters that can be seen, with no space at the ends.",
        )
    return name


def _opened(place: Place, purpose: Purpose, wait: float) -> Database:
    """The database, made or brought up to date; a server that is away, as while it starts, is waited for."""
    from touchline.store.migrate import open_database

    until, told = time.monotonic() + wait, False
    while True:
        try:
            return open_database(place.url, purpose=purpose)
        except ServerAway as error:
            if time.monotonic() >= until:
                raise
            if not told:
                say(f"{error.message}\nWaiting for it, {wait:g} s at most.")
            told = True
        time.sleep(max(0.0, min(AWAY_SECONDS, until - time.monotonic())))


@contextmanager
def _living(database: Database, name: str) -> Iterator[Callable[[], None]]:
    """Beat from the moment on that this process runs the work, which the caller says, and tell its end."""
    ended = threading.Event()
    thread = threading.Thread(target=_beat, args=(database, name, ended), name="touchline-alive", daemon=True)
    try:
        yield thread.start
    finally:
        ended.set()
        if thread.ident is not None:
            thread.join(timeout=LAST_WORD_SECONDS)


def _beat(database: Database, name: str, ended: threading.Event) -> None:
    from sqlalchemy.exc import SQLAlchemyError

    from touchline.coordination.heartbeats import beat, stop
    from touchline.coordination.leases import expire
    from touchline.sessions.delivering import send_results

    _warn_of_namesake(database, name)
    say(f"Worker {name} is at work (process {os.getpid()}). Ctrl-C ends it.")
    over = False
    while not over:
        try:
            beat(database, component=f"worker:{name}", kind="worker")
            expire(database)
            until = time.monotonic() + BEAT_SECONDS
            while not over and time.monotonic() < until:
                send_results(database)
                over = ended.wait(SEND_SECONDS)
            if over:
                stop(database, f"worker:{name}", reason="ended")
        except (TouchlineError, SQLAlchemyError) as error:
            # A server that is restarted comes back, and the engine waits for it too.
            logging.getLogger("touchline.cli").warning("heartbeat of %s: %s", name, error)
            over = ended.wait(AWAY_SECONDS)


def _warn_of_namesake(database: Database, name: str) -> None:
    """Two workers under one name would look like one that starts again and again."""
    from sqlalchemy.exc import SQLAlchemyError

    from touchline.coordination.heartbeats import components
    from touchline.store.clock import time_of

    try:
        with database.reading() as connection:
            known = {each.component: each for each in components(connection)}
            moment = time_of(connection)
    except (StoreError, SQLAlchemyError):
        return  # the beat says so
    other = known.get(f"worker:{name}")
    if other is None or other.status != "alive":
        return
    silent = (moment - other.beat_at).total_seconds()
    if silent < 2 * BEAT_SECONDS:
        where = f"process {other.pid} on {other.host}"
        say(f"A worker called {name} was alive {silent:.0f} s ago ({where}). If it still is, name this one otherwise.")


def _log_to_stderr() -> None:
    """What the engine tells, such as a takeover, as lines on standard error and in the log file."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", datefmt="%H:%M:%S"))
    ours = logging.getLogger("touchline")
    ours.addHandler(handler)
    if (file := log_file("worker")) is not None:
        ours.addHandler(LogHandler(file))
    ours.setLevel(logging.INFO)
