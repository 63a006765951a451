"""Who runs the sessions of this database? This process when it can, else it stands by and takes over when it must.

On SQLite one process at a time runs the work of a file. A second one starts and follows its session there, and goes on
with it when the first has ended. On PostgreSQL everybody runs.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from touchline.cli.exits import Exit
from touchline.cli.place import hint_of
from touchline.cli.terminal import say
from touchline.errors import EngineError, TouchlineError

if TYPE_CHECKING:
    from types import TracebackType

    from touchline.engine.port import Engine, Job
    from touchline.store.database import Database, Purpose
    from touchline.store.place import Place

LOOK_SECONDS = 0.5
"""How often a process that stands by looks whether the one that runs is still there."""
_TRIES = 5


def supervised(place: Place) -> bool:
    """Whether a process runs the work of this SQLite file. Of PostgreSQL nobody can say so."""
    from touchline.engine.opening import supervisor_lock
    from touchline.store.locks import HeldLock

    if place.path is None or not supervisor_lock(place.path).exists():
        return False
    held = HeldLock.take(supervisor_lock(place.path))
    if held is None:
        return True
    held.release()
    return False


class Post:
    """This process's place at a database. Use it with `with`; leaving it while sessions run here ends the process."""

    def __init__(self, place: Place, *, purpose: Purpose, drive: bool = True) -> None:
        self.place, self._purpose, self._wants_to_drive = place, purpose, drive
        self.engine: Engine
        self.database: Database
        self._stack = ExitStack()
        self._next = 0.0

    @property
    def drives(self) -> bool:
        """Whether sessions run in this process."""
        return self.engine.drives

    def __enter__(self) -> Post:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.at_work():
            # Threads are in the middle of a turn: nothing may be taken from under them. Their agents end with us, and
            # the next process goes on with what they did.
            _end_now(error)
        self._stack.close()

    def at_work(self, but: str = "") -> Sequence[Job]:
        """The jobs of sessions and builds that run in this process, without those of one session."""
        from touchline.engine.port import State

        if not self.drives:
            return ()
        mine = getattr(self.engine, "executor", None)
        jobs = self.engine.list(states=(State.RUNNING,), limit=1000)
        return [job for job in jobs if job.executor == mine and not (but and but in job.id)]

    def look(self) -> bool:
        """Take over when nobody runs the work any more; whether this process has just done so."""
        if self.drives or not self._wants_to_drive or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + LOOK_SECONDS
        if supervised(self.place):
            return False
        self._stack.close()
        self._open()
        return self.drives

    def leave(self, code: int) -> NoReturn:
        """End the process with work left in it."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    def _open(self) -> None:
        fault: EngineError | None = None
        for _ in range(_TRIES):
            self._stack = ExitStack()
            if not self._wants_to_drive or supervised(self.place):
                self._stand_by()
                return
            try:
                self._drive()
            except EngineError as error:
                # Another may have become the one that runs it, or ended, in this very moment; a real fault comes again.
                self._stack.close()
                fault = error
                time.sleep(0.1)
            else:
                return
        assert fault is not None
        raise fault

    def _drive(self) -> None:
        from touchline.roles.working import working
        from touchline.settings.loading import settings_for

        limits = settings_for({}, os.environ, Path.cwd(), Path.home()).limits()
        work = working(self.place, env=os.environ, home=Path.home(), purpose=self._purpose, limits=limits)
        self.engine, self.database = self._stack.enter_context(work)

    def _stand_by(self) -> None:
        from touchline.engine.opening import connect_engine
        from touchline.roles.working import know_workflows
        from touchline.store.migrate import open_database

        know_workflows()  # so that the engine knows which queue each goes into
        self.database = self._stack.enter_context(open_database(self.place.url, purpose=self._purpose))
        self.engine = connect_engine(self.place)
        self._stack.callback(self.engine.close)


def _end_now(error: BaseException | None) -> NoReturn:
    code: int = Exit.DONE
    match error:
        case None:
            pass
        case TouchlineError():
            say(f"touchline: {error.message}\n{hint_of(error)}".rstrip())
            code = Exit.USAGE
        case BrokenPipeError():
            os._exit(Exit.PIPE_CLOSED)
        case SystemExit():
            code = error.code if isinstance(error.code, int) else Exit.UNEXPECTED
        case _:
            # typer's own way to leave carries its code, too
            found = getattr(error, "exit_code", None)
            if isinstance(found, int):
                code = found
            else:
                traceback.print_exception(error)
                code = Exit.UNEXPECTED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
