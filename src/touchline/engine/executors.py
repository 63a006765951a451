"""Which workers are alive, and who goes on with a dead one's work? Heartbeats in our own table, and takeover.

Nobody coordinates: every worker beats and watches the others. Of several that see one dead, one wins the row by a
conditional update, moves the work, and only then deletes the row; a winner that dies half-way is seen dead in turn,
and its claim grows old like a beat. Times are the database's: the clocks of the machines do not matter.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import sqlalchemy as sa

from touchline.engine.port import WhenDead
from touchline.engine.strays import Booked, Strays
from touchline.errors import ServerDown
from touchline.store.clock import time_of
from touchline.store.database import Database
from touchline.store.fault_points import fault_point
from touchline.store.statuses import create_once, move
from touchline.store.tables import heartbeats

BEAT_SECONDS = 5.0
TTL_SECONDS = 30.0
_LEFT = 10 * 365 * 24 * 3600.0
"""Silent for that long: it did not die, it left its work to the others."""
KIND = "executor"
_PREFIX = "executor:"
_LOG = logging.getLogger("touchline.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """An executor that no longer beats, or whose takeover came to nothing."""

    executor: str
    status: str
    beat_at: datetime


def new_executor() -> str:
    """A name that no other process has or ever had."""
    return f"{socket.gethostname()[:60]}.{os.getpid()}.{secrets.token_hex(4)}"


def announce(connection: sa.Connection, executor: str) -> None:
    """This process is about to take work under that name."""
    _create(connection, executor, host=socket.gethostname()[:200], pid=os.getpid(), detail={})


def beat(connection: sa.Connection, executor: str) -> bool:
    """Still here. False when the others took this executor for dead: its work is theirs now."""
    row = heartbeats.c
    beaten = connection.execute(
        heartbeats.update()
        .where(row.component == _PREFIX + executor, row.status == "alive")
        .values(beat_at=time_of(connection))
    )
    return beaten.rowcount == 1


def leave(connection: sa.Connection, executor: str, *, unfinished: int) -> None:
    """This process ends. With work left over, the others may take it at once."""
    mine = heartbeats.c.component == _PREFIX + executor
    if unfinished:
        connection.execute(heartbeats.update().where(mine).values(beat_at=datetime.fromtimestamp(0, UTC)))
    else:
        connection.execute(heartbeats.delete().where(mine))


def find_dead(connection: sa.Connection, *, ttl: float, but: str) -> list[Dead]:
    """Who has not beaten for so many seconds."""
    row = heartbeats.c
    limit = time_of(connection) - timedelta(seconds=ttl)
    found = connection.execute(
        sa.select(row.component, row.status, row.beat_at)
        .where(row.kind == KIND, row.beat_at < limit, row.component != _PREFIX + but)
        .order_by(row.beat_at)
    )
    return [
        Dead(executor=each.component.removeprefix(_PREFIX), status=each.status, beat_at=each.beat_at) for each in found
    ]


def claim(connection: sa.Connection, dead: Dead, *, by: str) -> Dead | None:
    """Win the right to take over, or None when somebody else did, or it beat again."""
    if connection.execute(sa.select(heartbeats.c.component).where(*_same(dead)).with_for_update()).first() is None:
        return None
    moment = time_of(connection)
    component = _PREFIX + dead.executor
    move(connection, "heartbeats", component, "recovering", expect=dead.status, detail={"by": by}, beat_at=moment)
    return Dead(executor=dead.executor, status="recovering", beat_at=moment)


def bury(connection: sa.Connection, claimed: Dead) -> bool:
    """Forget an executor whose work was moved; False when the claim had grown old and is another's now."""
    return connection.execute(heartbeats.delete().where(*_same(claimed))).rowcount == 1


def enlist(connection: sa.Connection, executors: Iterable[str]) -> list[str]:
    """Give a row to executors that hold work and have none, as if they had just beaten: who does not beat, dies.

    It happens when a worker wakes up after it was buried and takes one more job before it notices.
    """
    row = heartbeats.c
    known = set(connection.execute(sa.select(row.component).where(row.kind == KIND)).scalars())
    lost = sorted(executor for executor in executors if _PREFIX + executor not in known)
    for executor in lost:
        _create(connection, executor, host="", pid=0, detail={"found": "holding work without a heartbeat"})
    return lost


def _create(connection: sa.Connection, executor: str, **values: Any) -> None:
    moment = time_of(connection)
    create_once(
        connection,
        "heartbeats",
        unique="component",
        component=_PREFIX + executor,
        kind=KIND,
        started_at=moment,
        beat_at=moment,
        **values,
    )


def _same(dead: Dead) -> tuple[sa.ColumnElement[bool], ...]:
    row = heartbeats.c
    return row.component == _PREFIX + dead.executor, row.status == dead.status, row.beat_at == dead.beat_at


class Work(Booked, Protocol):
    """What the watch can do about work, whoever runs it."""

    def recover(self, executor: str) -> int: ...
    def executors_at_work(self) -> set[str]: ...


class Watch:
    """The thread that beats for this executor and looks after the others."""

    def __init__(
        self,
        database: Database,
        executor: str,
        *,
        work: Work,
        when_dead: WhenDead | None = None,
        beat_seconds: float = BEAT_SECONDS,
        ttl_seconds: float = TTL_SECONDS,
    ) -> None:
        self._taken = threading.Event()
        """Set when the others took this executor for dead."""
        self._heard_at = time.monotonic()
        """When the last beat that was acknowledged had been sent: whoever judges us counts from later."""
        self._database = database
        self._executor = executor
        self._work, self._when_dead = work, when_dead
        self._strays = Strays(work, executor, ttl_seconds)
        self._beat, self._ttl = beat_seconds, ttl_seconds
        self._stop = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="touchline-heartbeat", daemon=True)
        self._steady_since: float | None = None

    @property
    def fenced(self) -> bool:
        """Whether the others took this executor for dead, or may have, since no beat was acknowledged for so long. It
        must stop. Decided here and now: the thread that beats may be waiting for an answer that never comes."""
        return self._taken.is_set() or time.monotonic() - self._heard_at > self._ttl

    def start(self) -> None:
        self._thread.start()

    def only_beat(self) -> None:
        """This process takes no more work: go on beating for what it still runs, and leave the others alone."""
        self._closing.set()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=0.0 if self.fenced else self._beat + 5)

    def _run(self) -> None:
        while not self._stop.is_set() and not self._taken.is_set():
            try:
                self._turn()
            except Exception as error:
                # Mostly the database is away; whatever it is, this thread must not die, or the others would take over
                # while we go on. While it lasts nobody can beat: what it says afterwards is old for everybody.
                self._steady_since = None
                if isinstance(error, ServerDown):
                    # It does not run: nobody can take over now. Only silence may mean that we alone are cut off.
                    self._heard_at = time.monotonic()
                _LOG.warning("heartbeat of %s: %s", self._executor, error)
            self._stop.wait(self._beat)

    def _turn(self) -> None:
        sent = time.monotonic()
        with self._database.writing() as connection:
            alive = beat(connection, self._executor)
        if not alive:
            self._taken.set()
            return
        self._heard_at = sent
        if self._closing.is_set():
            return
        moment = time.monotonic()
        if self._steady_since is None:
            self._steady_since = moment
        # Judge others only after having seen a whole life-time of beats oneself, or a database that was away for a
        # while would make everybody look dead to whoever comes back first.
        steady = moment - self._steady_since >= self._ttl
        self.take_over(self._ttl if steady else _LEFT)
        if steady:
            self._strays.gather()

    def take_over(self, ttl: float) -> int:
        """Go on with the work of those who were silent for so many seconds; how many executors."""
        with self._database.reading() as connection:
            found = find_dead(connection, ttl=ttl, but=self._executor)
        count = 0
        for dead in found:
            with self._database.writing() as connection:
                claimed = claim(connection, dead, by=self._executor)
            if claimed is None:
                continue
            fault_point("takeover.claimed")
            moved = self._work.recover(claimed.executor)
            fault_point("takeover.recovered")
            if self._when_dead is not None:
                self._when_dead(claimed.executor)
            with self._database.writing() as connection:
                bury(connection, claimed)
            _LOG.warning("took over %s jobs of %s, which is dead", moved, claimed.executor)
            count += 1
        at_work = self._work.executors_at_work()
        with self._database.writing() as connection:
            enlist(connection, at_work)
        return count
