"""Where do sessions work on this machine? The database, the folders, the environment and the drivers of one process.

Workflows are functions that the engine calls with plain values, so what they work with is opened here once per process,
before the engine starts: recovered sessions begin at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from touchline.agents.port import Driver, Found
from touchline.agents.sandbox import Probe
from touchline.engine.dbos_settings import POLL_SECONDS
from touchline.engine.opening import running_engine
from touchline.engine.port import Engine
from touchline.errors import SessionError, WorkspaceError
from touchline.store.database import Database, Purpose
from touchline.store.place import Place, data_folder
from touchline.store.writer import EventWriter
from touchline.supervision.limits import LIMITS, Limits

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """All that a running session needs from the machine."""

    database: Database
    writer: EventWriter
    folder: Path
    """Streams and snapshots of each session: `<folder>/<session>/turn-1.jsonl`."""
    workspaces: Path
    """The agents' clones."""
    records: Path
    """Who is running, for ending leftovers after a crash."""
    env: Mapping[str, str]
    """The user's environment; agents get the allowed part of it."""
    home: Path
    driver: Callable[[str], Driver]
    first_installed: Callable[[Mapping[str, str]], tuple[Driver, Found]]
    probe: Callable[[], Probe]
    """What confinement this machine has; found out once."""
    limits: Limits = LIMITS

    def of(self, session: str) -> Path:
        """The folder of one session."""
        return self.folder / session


_lock = threading.Lock()
_open: list[Room] = []


def current_room() -> Room:
    """The room of this process. SessionError when none is open."""
    if not _open:
        raise SessionError("No room for sessions is open in this process.", hint="Use: with open_room(...)")
    return _open[-1]


def sessions_folder(place: Place, *, env: Mapping[str, str], home: Path) -> Path:
    """Where this machine keeps what sessions wrote: beside a SQLite database, else in the data folder."""
    return (place.path.parent if place.path is not None else data_folder(env, home)) / "sessions"


def _once(work: Callable[[], T]) -> Callable[[], T]:
    """The same answer for all; of many who ask at the same time, one does the work and the others wait for it."""
    lock, found = threading.Lock(), list[T]()

    def answer() -> T:
        with lock:
            if not found:
                found.append(work())
            return found[0]

    return answer


@contextmanager
def open_room(
    place: Place,
    database: Database,
    *,
    env: Mapping[str, str],
    home: Path,
    limits: Limits = LIMITS,
    driver: Callable[[str], Driver] | None = None,
) -> Iterator[Room]:
    """Open the room of this process; one at a time. `driver` finds drivers by name; None asks the registry."""
    import touchline.sessions.loop  # noqa: F401 - puts the workflows into the book
    from touchline.agents import registry, sandbox
    from touchline.processes.children import children_folder

    folder = sessions_folder(place, env=env, home=home)
    workspaces = folder.with_name("workspaces")
    _prune(folder, workspaces, database)
    with EventWriter(database) as writer:
        room = Room(
            database=database,
            writer=writer,
            folder=folder,
            workspaces=workspaces,
            records=children_folder(place, env=env, home=home),
            env=dict(env),
            home=home,
            driver=driver or registry.driver_named,
            first_installed=registry.first_installed,
            probe=_once(lambda: sandbox.probe(env)),
            limits=limits,
        )
        with _lock:
            if _open:
                raise SessionError("A room for sessions is open already.", hint="One per process: use that one.")
            _open.append(room)
        try:
            yield room
        finally:
            _open.remove(room)


def _prune(folder: Path, workspaces: Path, database: Database) -> None:
    """Old streams of this database's ended sessions go when a process begins, and their clones with them.

    Where the clone has the only copy of the work, only age removes it.
    """
    from touchline.agents.workspaces.clone import remove
    from touchline.sessions.raw import prune
    from touchline.sessions.records import ENDED
    from touchline.store.tables import sessions

    query = sa.select(sessions.c.id, sessions.c.head_commit).where(sessions.c.status.in_(sorted(ENDED)))
    with database.reading() as connection:
        ended = {row.id: row.head_commit for row in connection.execute(query)}
    uncollected = {id for id, head in ended.items() if not head and (workspaces / id).is_dir()}
    for name in prune(folder, ended=ended, only_by_age=uncollected):
        with suppress(WorkspaceError):  # what cannot be removed is no reason not to work
            remove(workspaces / name)


@contextmanager
def working_sessions(
    place: Place,
    *,
    env: Mapping[str, str],
    home: Path,
    slots: int | None = None,
    purpose: Purpose = "user",
    poll: float = POLL_SECONDS,
    limits: Limits = LIMITS,
    driver: Callable[[str], Driver] | None = None,
) -> Iterator[tuple[Engine, Database]]:
    """Run sessions in this process: database, leftovers of a crash, room, engine, and what a dead process left open.

    EngineError when a SQLite file has its supervisor already: `connect_engine` then, and start sessions there."""
    from touchline.coordination.leases import release_dead
    from touchline.engine.retention import forget_old
    from touchline.processes.children import children_folder, end_leftovers
    from touchline.sessions.reconciling import reconcile
    from touchline.store.migrate import open_database

    end_leftovers(children_folder(place, env=env, home=home))
    with (
        open_database(place.url, purpose=purpose) as database,
        open_room(place, database, env=env, home=home, limits=limits, driver=driver),
        running_engine(
            place,
            database,
            slots={"sessions": slots} if slots else None,
            when_dead=partial(release_dead, database),
            poll=poll,
        ) as station,
    ):
        reconcile(station.engine, database)
        forget_old(station.engine, database)
        yield station.engine, database
