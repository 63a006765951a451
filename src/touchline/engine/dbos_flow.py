"""What does a running workflow see? Its steps, its messages, its clock: `Flow` on DBOS."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import sqlalchemy as sa
from dbos import DBOS

from touchline.engine.dbos_engine import ANSWER
from touchline.engine.port import Engine, Flow
from touchline.engine.workbook import Workbook, Workflow
from touchline.errors import DatabaseUnreachable, DiskFull, EngineError
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.fault_points import fault_point
from touchline.store.log_tables import step_results
from touchline.store.statements import inserting, reading, updating

if TYPE_CHECKING:
    from dbos import StepOptions

T = TypeVar("T")
AWAY_SECONDS = 300.0
"""How long a transaction waits for a database that went away, or for space on its disk."""
TICK = "tick:"
"""Before the name of a workflow, in the form that the clock calls."""


class Fenced(BaseException):
    """This process may no longer be the one that runs the job: what it did last is not recorded, by whoever runs it.

    No `Exception`, because DBOS would record that as the end of the step, and of the job."""


class Driving(Engine, Protocol):
    """What a running workflow needs to know of the process it runs in."""

    @property
    def executor(self) -> str: ...
    def fenced(self) -> bool: ...
    def is_others(self, id: str) -> bool: ...


class DbosFlow:
    """`Flow` of one execution."""

    def __init__(self, id: str, engine: Driving, database: Database) -> None:
        self.id = id
        self.engine: Engine = engine
        self._driving = engine
        self._database = database
        self.executor = engine.executor

    def step(self, name: str, work: Callable[..., Any], *args: Any, tries: int = 1) -> Any:
        options: StepOptions = {"name": name}
        if tries > 1:
            options |= {"retries_allowed": True, "max_attempts": tries, "interval_seconds": 0.5, "backoff_rate": 2.0}
        fault_point("step.starting")
        body: Callable[[], Any]
        if inspect.iscoroutinefunction(work):
            options["preemptible"] = True

            async def body() -> Any:
                with self._ours():
                    done = await work(*args)
                fault_point("step.done")
                return done
        else:

            def body() -> Any:
                with self._ours():
                    done = work(*args)
                fault_point("step.done")
                return done

        result = DBOS.run_step(options, body)
        fault_point("step.recorded")
        return result

    @contextmanager
    def _ours(self) -> Iterator[None]:
        """Nothing is begun, and neither a result nor an error counts, while this process may be taken for dead."""
        if self._driving.fenced():
            raise Fenced(self.id)
        try:
            yield
        finally:
            if self._driving.fenced():
                raise Fenced(self.id)

    def transaction(self, name: str, work: Callable[..., T], *args: Any) -> T:
        return cast(T, self.step(name, self._once, work, args))

    def _once(self, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        key = f"{self.id}/{DBOS.step_id}"
        deadline = time.monotonic() + AWAY_SECONDS
        pause = 0.2
        while True:
            try:
                return self._written(key, work, args)
            except sa.exc.IntegrityError:
                # Two executions met here (one was taken for dead, and is not): the other one's result counts.
                with self._database.reading() as connection:
                    found = _kept(connection, key)
                if found is None:
                    raise
                return cast(T, found["result"])
            except (DatabaseUnreachable, DiskFull):
                # Whether the commit arrived before the connection was lost, the kept result says.
                if time.monotonic() > deadline:
                    raise
                time.sleep(pause)
                pause = min(5.0, pause * 2)

    def _written(self, key: str, work: Callable[..., T], args: tuple[Any, ...]) -> T:
        with self._database.writing() as connection:
            found = _kept(connection, key)
            if found is not None:
                return cast(T, found["result"])
            # Before the work: a second execution waits at this row instead of doing the work beside us.
            connection.execute(inserting(step_results), {"key": key, "result": {"result": None}, "at": now()})
            result = work(connection, *args)
            connection.execute(updating(step_results, "key"), {"at_key": key, "result": {"result": result}})
            fault_point("transaction.written")
        fault_point("transaction.committed")
        return result

    def sleep(self, seconds: float) -> None:
        DBOS.sleep(seconds)

    def receive(self, topic: str, timeout: float) -> Any:
        return DBOS.recv(topic, timeout_seconds=timeout)

    def answer(self) -> Any:
        message = DBOS.recv(ANSWER, timeout_seconds=0)
        return None if message is None else message["value"]

    def changed(self, name: str) -> bool:
        return DBOS.patch(name)

    def must_stop(self) -> bool:
        return self._driving.fenced() or self._driving.is_others(self.id)


def _kept(connection: sa.Connection, key: str) -> Any:
    return connection.execute(reading(step_results.c.result, step_results.c.key), {"at_key": key}).scalar()


class Running:
    """How many workflows this process is in the middle of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def __enter__(self) -> None:
        with self._lock:
            self.count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.count -= 1


def register(workbook: Workbook, flow_of: Callable[[str], Flow], running: Running) -> dict[str, Callable[..., Any]]:
    """Make the workbook's workflows known to DBOS; the functions that the clock calls, by the name of the workflow."""
    ticking = {tick.workflow for tick in workbook.ticks.values()}
    by_clock: dict[str, Callable[..., Any]] = {}
    for workflow in workbook.checked().workflows.values():
        run = _runner(workflow, flow_of, running)
        DBOS.workflow(name=workflow.name, max_recovery_attempts=workflow.beginnings)(run)
        if workflow.name in ticking:
            tick = _ticker(run)
            by_clock[workflow.name] = DBOS.workflow(
                name=TICK + workflow.name, max_recovery_attempts=workflow.beginnings
            )(tick)
    return by_clock


def _runner(workflow: Workflow, flow_of: Callable[[str], Flow], running: Running) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        id = DBOS.workflow_id
        if id is None:
            raise EngineError(f"The workflow {workflow.name!r} was called outside of the engine.")
        with running:
            fault_point("workflow.began")
            result = workflow.body(flow_of(id), *args)
            fault_point("workflow.ended")
            return result

    # DBOS finds a function again by these.
    run.__name__ = run.__qualname__ = workflow.name
    return run


def _ticker(run: Callable[..., Any]) -> Callable[..., Any]:
    def tick(at: Any, _context: Any) -> Any:
        # Times come back from JSON as text.
        return run(at if isinstance(at, datetime) else datetime.fromisoformat(at))

    tick.__name__ = tick.__qualname__ = TICK + run.__name__
    return tick
