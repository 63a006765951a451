"""How does a program start, see and stop durable work? The part of the port that needs no running engine.

It talks to the engine's database alone, so any process may use it beside the one that runs the work.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from touchline.engine.dbos_settings import APPLICATION, SCHEMA, VERSION, connect
from touchline.engine.port import DEFAULT_PRIORITY, Job, State
from touchline.engine.workbook import DEFAULT_QUEUE, Workbook
from touchline.errors import EngineAway, EngineError
from touchline.store.driver_errors import is_away
from touchline.store.fault_points import fault_point
from touchline.store.place import Place

if TYPE_CHECKING:
    from dbos import WorkflowStatus

ANSWER = "touchline.answer"
"""The topic an answer to something parked is sent on."""
NEVER = 100 * 365 * 24 * 3600.0
_STATES = {
    "DELAYED": State.WAITING,
    "ENQUEUED": State.QUEUED,
    "PENDING": State.RUNNING,
    "SUCCESS": State.DONE,
    "ERROR": State.FAILED,
    "CANCELLED": State.CANCELLED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": State.EXHAUSTED,
}
_NAMES = {state: name for name, state in _STATES.items()}


class DbosClient:
    """`Engine` without the running: starts, inspects, cancels, answers."""

    def __init__(self, pool: sa.Engine, workbook: Workbook) -> None:
        from dbos import DBOSClient, DBOSPortableJSONSerializer

        self._pool = pool
        self._workbook = workbook
        with told():
            self._client = DBOSClient(
                system_database_engine=pool,
                dbos_system_schema=SCHEMA,
                serializer=DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
            )

    @property
    def drives(self) -> bool:
        return False

    def start(
        self,
        workflow: str,
        args: Sequence[Any] = (),
        *,
        id: str,
        queue: str | None = None,
        priority: int | None = None,
        delay: float | None = None,
    ) -> str:
        if not id.strip():
            raise EngineError("A job needs an id.", hint="The same id twice is the same job: make it say what it is.")
        fault_point("workflow.starting")
        options: dict[str, Any] = {
            "workflow_name": workflow,
            "queue_name": queue or self._queue_of(workflow),
            "workflow_id": id,
            "app_version": VERSION,
            "priority": DEFAULT_PRIORITY if priority is None else priority,
        }
        if delay is not None:
            options["delay_seconds"] = max(0.0, delay)
        with told():
            self._client.enqueue(options, *args)  # type: ignore[arg-type]
        fault_point("workflow.started")
        return id

    def status(self, id: str) -> Job | None:
        with told():
            found = self._client.list_workflows(workflow_ids=[id], load_input=False, load_output=True)
        return _job(found[0]) if found else None

    def result(self, id: str, timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        pause = 0.02
        while True:
            with told():
                found = self._client.list_workflows(workflow_ids=[id], load_input=False, load_output=True)
            if not found:
                raise EngineError(f"There is no job {id!r}.")
            job = _job(found[0])
            if job.state is State.DONE:
                return found[0].output
            if job.state.ended:
                raise EngineError(f"Job {id} {job.state}{': ' + job.error if job.error else ''}.")
            if time.monotonic() >= deadline:
                raise EngineError(f"Job {id} is still {job.state} after {timeout:g} s.", hint="It goes on.")
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(0.25, pause * 1.5)

    def list(
        self,
        *,
        states: Sequence[State] = (),
        workflow: str | None = None,
        queue: str | None = None,
        prefix: str | None = None,
        limit: int = 100,
    ) -> Sequence[Job]:
        with told():
            found = self._client.list_workflows(
                status=[_NAMES[state] for state in states] or None,
                name=workflow,
                queue_name=queue,
                workflow_id_prefix=prefix,
                limit=limit,
                sort_desc=True,
                load_input=False,
                load_output=True,
            )
        return [_job(each) for each in found]

    def cancel(self, id: str) -> None:
        with told():
            self._client.cancel_workflow(id)

    def resume(self, id: str) -> None:
        job = self.status(id)
        if job is None:
            raise EngineError(f"There is no job {id!r}.")
        if job.state in (State.CANCELLED, State.EXHAUSTED):
            with told():
                self._client.resume_workflow(id, queue_name=self._queue_of(job.workflow))

    def send(self, id: str, topic: str, value: Any, *, key: str | None = None) -> None:
        with told():
            self._client.send(id, value, topic, key)

    def park(
        self,
        key: str,
        *,
        then: str,
        args: Sequence[Any] = (),
        deadline: datetime | None,
        queue: str | None = None,
        priority: int | None = None,
    ) -> str:
        delay = NEVER if deadline is None else (deadline - datetime.now(UTC)).total_seconds()
        id = self.start(then, args, id=parked_id(key), queue=queue, priority=priority, delay=delay)
        fault_point("question.parked")
        return id

    def answer(self, key: str, value: Any) -> bool:
        job = self.status(parked_id(key))
        if job is None or job.state.ended:
            return False
        # One message under one key: the first answer counts, and repeating the call after a crash adds nothing.
        self.send(job.id, ANSWER, {"value": value}, key=f"{job.id}/answer")
        fault_point("question.answered")
        with told():
            self._client.set_workflow_delay(job.id, delay_seconds=0)
        fault_point("question.woken")
        return True

    def forget(self, before: datetime) -> int:
        ended = [_NAMES[state] for state in State if state.ended]
        count = 0
        while True:
            with told():
                found = self._client.list_workflows(
                    status=ended, completed_before=before.isoformat(), limit=500, load_input=False, load_output=False
                )
                if not found:
                    return count
                self._client.delete_workflows([each.workflow_id for each in found])
            count += len(found)

    def close(self, *, grace: float = 0.0) -> int:  # noqa: ARG002 - the port's signature; nothing runs here
        self._client.destroy()
        self._pool.dispose()
        return 0

    def _queue_of(self, workflow: str) -> str:
        known = self._workbook.workflows.get(workflow)
        return known.queue if known else DEFAULT_QUEUE


def parked_id(key: str) -> str:
    """The id of the job that waits under a key."""
    return f"parked:{key}"


def _job(found: WorkflowStatus) -> Job:
    return Job(
        id=found.workflow_id,
        workflow=found.name,
        state=_STATES.get(found.status, State.FAILED),
        queue=found.queue_name,
        priority=found.priority or 0,
        executor=found.executor_id,
        attempts=found.recovery_attempts or 0,
        created_at=_moment(found.created_at),
        updated_at=_moment(found.updated_at),
        due_at=_moment(found.delay_until_epoch_ms) if found.delay_until_epoch_ms is not None else None,
        error=_said(found.error),
    )


def _said(error: BaseException | str | None) -> str:
    if error is None:
        return ""
    name = getattr(error, "name", type(error).__name__)
    return f"{name}: {error}"


def _moment(milliseconds: int | None) -> datetime:
    return datetime.fromtimestamp((milliseconds or 0) / 1000, UTC)


def make_tables(place: Place) -> None:
    """Bring the engine's tables up to date, all or none of it, as a launch would. To be called within `launching`.

    DBOS lets only its application do it, which runs work. (Its client would do it too, but on PostgreSQL without the
    triggers by which a message wakes who waits for it, and nobody would add them later.)
    """
    from dbos import DBOSPortableJSONSerializer
    from dbos._sys_db import SystemDatabase

    pool = connect(place, for_tables=True)
    try:
        with told():
            tables = SystemDatabase.create(
                system_database_url=place.engine_url,
                engine_kwargs={},
                engine=pool,
                schema=SCHEMA,
                serializer=DBOSPortableJSONSerializer(),
                executor_id=None,
            )
            tables.run_migrations()
    finally:
        pool.dispose()


@contextmanager
def told() -> Iterator[None]:
    """The engine's errors, in our words."""
    from dbos import error as dbos_error
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.exc import TimeoutError as NoneLeft

    try:
        yield
    except dbos_error.DBOSException as error:
        raise EngineError(str(error.message)) from error
    except DBAPIError as error:
        kind = EngineAway if is_away(error) else EngineError
        raise kind(
            f"The engine's database does not answer as it should: {error.orig}", hint="touchline doctor says more."
        ) from error
    except NoneLeft as error:
        raise EngineError(
            f"No connection to the engine's database became free: {error}", hint="Too much is done at once; try again."
        ) from error
    except builtins.TypeError as error:
        raise EngineError(f"The engine keeps JSON values only: {error}") from error
