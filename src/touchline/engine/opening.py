"""Who may run the work of a database? On SQLite one supervisor per file; on PostgreSQL everybody, each under its name.

Others connect: they can start, inspect, cancel and answer, and never touch what a living process is running.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from touchline.engine.dbos_settings import LOCAL, POLL_SECONDS, connect, launching, silence
from touchline.engine.executors import BEAT_SECONDS, TTL_SECONDS, Watch, announce, leave, new_executor
from touchline.engine.port import Engine, WhenDead
from touchline.engine.strays import StrayWatch
from touchline.engine.workbook import BOOK, Workbook
from touchline.errors import EngineError
from touchline.store.database import Database
from touchline.store.locks import HeldLock
from touchline.store.place import Place

CUT_OFF_SECONDS = 5.0
"""How long the end of a process that is cut off may take."""


def connect_engine(place: Place, workbook: Workbook = BOOK) -> Engine:
    """The engine as seen from outside. It makes its tables if nobody did, and runs nothing."""
    silence()
    from touchline.engine.dbos_engine import DbosClient, make_tables

    with launching(place):
        make_tables(place)
    return DbosClient(connect(place), workbook)


def supervisor_lock(path: Path) -> Path:
    """The lock that the one supervisor of a SQLite file holds."""
    return path.with_name(path.name + ".supervisor.lock")


def _right_to_run(place: Place) -> HeldLock | None:
    """Be the one process that runs the work of a SQLite file. The system takes the right back when it dies."""
    if place.path is None:
        return None
    path = supervisor_lock(place.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    held = HeldLock.take(path)
    if held is None:
        raise EngineError(
            f"{place} already has its supervisor (process {_written(path)}).",
            hint="This process can start and inspect work beside it. To run more at a time, give that one more slots, "
            "or use PostgreSQL.",
        )
    try:
        path.write_text(str(os.getpid()), encoding="ascii")
    except BaseException:
        held.release()
        raise
    return held


class Station:
    """A process that runs work: its engine, and on PostgreSQL its heartbeat. Made by `running_engine`."""

    def __init__(
        self,
        place: Place,
        database: Database,
        workbook: Workbook,
        *,
        slots: Mapping[str, int] | None,
        when_dead: WhenDead | None,
        beat: float,
        ttl: float,
        poll: float,
    ) -> None:
        from touchline.engine.dbos_driver import DbosDriver

        self._database = database
        self._left: int | None = None
        self.executor = LOCAL if place.path is not None else new_executor()
        self.watch: Watch | None = None
        self._strays: StrayWatch | None = None
        if place.path is None:
            # The row comes first: work booked on a name without one would belong to nobody.
            with database.writing() as connection:
                announce(connection, self.executor)
        elif when_dead is not None:
            # Only one process at a time has this name and we have the right to it: whoever had it before is dead.
            when_dead(self.executor)
        self.engine = DbosDriver(
            connect(place),
            workbook,
            place=place,
            database=database,
            executor=self.executor,
            slots=dict(slots or {}),
            poll=poll,
            fenced=lambda: self.fenced,
        )
        if place.path is None:
            self.watch = Watch(
                database,
                self.executor,
                work=self.engine,
                when_dead=when_dead,
                beat_seconds=beat,
                ttl_seconds=ttl,
            )
            self.watch.start()
        else:
            self._strays = StrayWatch(self.engine, self.executor)

    @property
    def fenced(self) -> bool:
        """Whether the others took this process for dead, or may have. What it runs is theirs now."""
        return self.watch is not None and self.watch.fenced

    def close(self, *, grace: float = 0.0) -> int:
        """Stop; how many workflows are still running. They stay this process's own: call `hand_over`, then end it."""
        if self._left is None:
            if self.watch is not None:
                self.watch.only_beat()
            if self._strays is not None:
                self._strays.stop()
            self._left = self._close_cut_off() if self.fenced else self.engine.close(grace=grace)
            if not self._left:
                self.hand_over()
        return self._left

    def _close_cut_off(self) -> int:
        """Close without the database's help: a server that does not answer is not waited for."""
        left: list[int] = []
        closing = threading.Thread(target=lambda: left.append(self.engine.close()), daemon=True)
        closing.start()
        closing.join(CUT_OFF_SECONDS)
        return left[0] if left else max(1, self.engine.busy)

    def hand_over(self) -> None:
        """Let the others go on with what was left, at once instead of when this process has been silent for long.

        With work left, only as the last thing before the process ends: its threads may still be in a step. On SQLite
        there is nothing to do: the right to the file ends with the process.
        """
        if self.watch is None:
            return
        self.watch.stop()
        if not self.fenced:
            with self._database.writing() as connection:
                leave(connection, self.executor, unfinished=self._left or 0)


@contextmanager
def running_engine(
    place: Place,
    database: Database,
    workbook: Workbook = BOOK,
    *,
    slots: Mapping[str, int] | None = None,
    when_dead: WhenDead | None = None,
    beat: float = BEAT_SECONDS,
    ttl: float = TTL_SECONDS,
    poll: float = POLL_SECONDS,
) -> Iterator[Station]:
    """Run the work of a database in this process. Raises `EngineError` when a SQLite file has its supervisor.

    `when_dead` is called for executors found dead, and on SQLite at the start for whoever ran the file before.
    """
    if ttl < 2 * beat:
        raise EngineError(f"A worker that beats every {beat:g} s would look dead after {ttl:g} s.")
    right = _right_to_run(place)
    unfinished = 0
    try:
        station = Station(place, database, workbook, slots=slots, when_dead=when_dead, beat=beat, ttl=ttl, poll=poll)
        try:
            yield station
        finally:
            unfinished = station.close()
    finally:
        # While a thread is still in a step nobody else may go on with it: the right then ends with the process.
        if right is not None and not unfinished:
            right.release()


def _written(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip() or "unknown"
    except OSError:
        return "unknown"
