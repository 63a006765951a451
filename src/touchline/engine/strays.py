"""Which jobs are booked on this process and run by nobody? They go back into their queues.

It happens when the connection is lost, or the disk is full, just as jobs are taken or the end of one is written down.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

STRAY_SECONDS = 5.0
"""How often the one supervisor of a SQLite file looks."""
_LOG = logging.getLogger("touchline.engine")


class Booked(Protocol):
    """What can be done about such work."""

    def strays(self) -> set[str]: ...
    def requeue(self, job: str) -> bool: ...


class Strays:
    """Looks every so many seconds, when asked. Seen twice is sure enough: between taking and running lies a moment."""

    def __init__(self, work: Booked, executor: str, seconds: float) -> None:
        self._work, self._executor, self._seconds = work, executor, seconds
        self._seen: set[str] = set()
        self._at = time.monotonic()

    def gather(self) -> None:
        moment = time.monotonic()
        if moment - self._at < self._seconds:
            return
        self._at = moment
        found = self._work.strays()
        for job in sorted(found & self._seen):
            if self._work.requeue(job):
                _LOG.warning("job %s was booked on %s and not run; it is queued again", job, self._executor)
        self._seen = found


class StrayWatch:
    """The thread that does it where there is no heartbeat to do it with: on SQLite."""

    def __init__(self, work: Booked, executor: str) -> None:
        self._strays = Strays(work, executor, STRAY_SECONDS)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="touchline-strays", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=STRAY_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(STRAY_SECONDS):
            try:
                self._strays.gather()
            except Exception as error:
                # The disk is still full, or the file is locked: the next look finds the same jobs.
                _LOG.warning("looking for jobs that nobody runs: %s", error)
