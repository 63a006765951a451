"""What does `touchline worker` do? Connects, beats, takes over, runs the queues, and ends within a bounded time."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal, NoReturn

from touchline.engine.dbos_settings import POLL_SECONDS
from touchline.engine.executors import BEAT_SECONDS, TTL_SECONDS
from touchline.engine.opening import running_engine
from touchline.engine.port import WhenDead
from touchline.engine.workbook import BOOK, Workbook
from touchline.processes.children import children_folder, end_leftovers
from touchline.store.database import Purpose
from touchline.store.migrate import open_database
from touchline.store.place import Place

GRACE_SECONDS = 20.0
_LOG = logging.getLogger("touchline.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEnd:
    """Why a worker ended."""

    reason: Literal["stopped", "fenced", "failed"]
    """`fenced`: it was silent for so long that the others took over its work, or may have; start it anew.
    `failed`: by `error`, with work left. (With none left, the error is raised.)"""
    unfinished: int
    """Workflows that are half-way, their threads perhaps still in a step: end the process, with `leave`."""
    leftovers: int
    """Processes of an earlier worker on this machine that had to be ended at the start."""
    hand_over: Callable[[], None]
    """Lets the others go on with what is unfinished. `leave` calls it, as the last thing."""
    error: Exception | None = None


def run_worker(
    place: Place,
    *,
    slots: int | Mapping[str, int] | None = None,
    stop: threading.Event | None = None,
    workbook: Workbook = BOOK,
    when_dead: WhenDead | None = None,
    ready: Callable[[], None] = lambda: None,
    beat: float = BEAT_SECONDS,
    ttl: float = TTL_SECONDS,
    poll: float = POLL_SECONDS,
    grace: float = GRACE_SECONDS,
    purpose: Purpose = "user",
) -> WorkerEnd:
    """Run the queues until `stop` is set, or SIGTERM or SIGINT comes (in the main thread); then finish what runs within
    `grace` seconds; the rest is handed back by `leave`. `slots`: for every queue, or by queue; None leaves what the
    workbook says. `ready` is called when this process has the right to run the work, and runs it.
    """
    stop = stop or threading.Event()
    leftovers = end_leftovers(children_folder(place, env=os.environ, home=Path.home()))
    if isinstance(slots, int):
        slots = dict.fromkeys(workbook.queues, slots)
    with (
        _signals(stop),  # first: who is told to stop while it starts stops in order, too
        open_database(place.url, purpose=purpose) as database,
        running_engine(
            place, database, workbook, slots=slots, when_dead=when_dead, beat=beat, ttl=ttl, poll=poll
        ) as station,
    ):
        try:
            ready()
        except Exception as error:
            left = station.close()
            if not left:
                raise
            # Raised, it would leave the threads that are in a step behind, and the interpreter would wait for them.
            return WorkerEnd(
                reason="failed", unfinished=left, leftovers=leftovers, hand_over=station.hand_over, error=error
            )
        while not stop.wait(0.2) and not station.fenced:
            pass
        # A fenced worker has nothing to finish: its work is running elsewhere.
        left = station.close(grace=0.0 if station.fenced else grace)
        return WorkerEnd(
            reason="fenced" if station.fenced else "stopped",
            unfinished=left,
            leftovers=leftovers,
            hand_over=station.hand_over,
        )


def leave(end: WorkerEnd, code: int) -> NoReturn:
    """End the process with a code; at once when threads are still in a step, whose children die with us."""
    sys.stdout.flush()
    sys.stderr.flush()
    if end.unfinished:
        try:
            end.hand_over()
        except Exception as error:
            # The database is away: the others will notice by our silence.
            _LOG.warning("the work could not be handed over: %s", error)
        finally:
            os._exit(code)
    raise SystemExit(code)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def told(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
