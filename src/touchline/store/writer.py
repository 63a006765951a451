"""How do thousands of events per second get into the log? One thread writes what many hand in, a batch per commit.

Who hands in an event waits for its commit, or holds a future for it. A broken event is refused at once, in the thread
of who handed it in; one that the database refuses fails alone. When the disk is full or the server is away, those who
wait are told, and the writer goes on with the next batch.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import NamedTuple

import sqlalchemy as sa

from touchline.errors import StoreError
from touchline.store.append import Row, append_rows, row_of
from touchline.store.database import Database
from touchline.store.events import NewEvent

MAX_BATCH = 1000
MAX_WAITING = 20_000
"""Events handed in and not yet written; beyond it, who hands in waits."""


class _Waiting(NamedTuple):
    row: Row
    done: Future[int]


class EventWriter:
    """Writes events of many threads. Use it in a `with`, or close it; either writes what was handed in before."""

    def __init__(self, database: Database, *, close_seconds: float = 10.0) -> None:
        self._database = database
        self._close_seconds = close_seconds
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._write_all, name="touchline-events", daemon=True)

    def __enter__(self) -> EventWriter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, event: NewEvent, *, seconds: float | None = None) -> int:
        """Hand in an event, and return its number once it is committed.

        EventError when it does not fit its type, StoreError when it could not be written, TimeoutError after `seconds`.
        A connection lost in mid-commit is told as a StoreError too, although the event may be there.
        """
        return self.submit(event).result(seconds)

    def submit(self, event: NewEvent) -> Future[int]:
        """Hand in an event without waiting for its commit. EventError at once when it does not fit its type."""
        item = _Waiting(row_of(event), Future())
        item.done.set_running_or_notify_cancel()  # from here on it will be written: it cannot be taken back
        with self._changed:
            while len(self._waiting) >= MAX_WAITING and not self._closing:
                self._changed.wait()
            if self._closing or not self._thread.is_alive():
                raise StoreError("The event writer is not open.", hint="Use it in a with block.")
            self._waiting.append(item)
            if len(self._waiting) == 1:
                self._changed.notify_all()
        return item.done

    def close(self) -> None:
        """Write what was handed in and end. Waits a bounded time; who is then still waiting gets a StoreError."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(self._close_seconds)
        with self._changed:
            left, self._waiting = list(self._waiting), deque()
        _fail(left, StoreError("The event writer was closed before this event was written.", hint="Hand it in again."))

    def _write_all(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
                self._changed.notify_all()
            self._write(batch)

    def _write(self, batch: list[_Waiting]) -> None:
        try:
            with self._database.writing() as connection:
                seqs = append_rows(connection, [each.row for each in batch])
        except sa.exc.DBAPIError as error:
            # The database is there and refuses something: only that event shall fail.
            if len(batch) == 1:
                _fail(batch, _refused(error))
            else:
                for each in batch:
                    self._write([each])
        except BaseException as error:
            _fail(batch, error)
            # Everything handed in meanwhile would fail the same way at once, and burn a processor while it does.
            time.sleep(0.01)
        else:
            for each, seq in zip(batch, seqs, strict=True):
                each.done.set_result(seq)


def _refused(error: sa.exc.DBAPIError) -> StoreError:
    told = StoreError(f"The database refused the event: {error.orig}", hint="Run: touchline doctor")
    told.__cause__ = error
    return told


def _fail(batch: list[_Waiting], error: BaseException) -> None:
    for each in batch:
        each.done.set_exception(error)
