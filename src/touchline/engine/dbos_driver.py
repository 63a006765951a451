"""How does a process run durable work? DBOS launched in this process, with our queues, ticks and limits."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from touchline.engine.asking import Asking
from touchline.engine.dbos_engine import DbosClient, make_tables, told
from touchline.engine.dbos_polls import BOOKED, Glance, look_first
from touchline.engine.dbos_settings import POLL_SECONDS, SCHEMA, configuration, engine_file, launching, silence
from touchline.engine.workbook import DEFAULT_QUEUE, Workbook
from touchline.errors import EngineError
from touchline.store.database import Database
from touchline.store.place import Place


class DbosDriver(DbosClient):
    """`Engine` that also runs what is in the queues. One per process; its event loop lives as long as it does."""

    def __init__(
        self,
        pool: sa.Engine,
        workbook: Workbook,
        *,
        place: Place,
        database: Database,
        executor: str,
        slots: dict[str, int] | None = None,
        poll: float = POLL_SECONDS,
        fenced: Callable[[], bool] = lambda: False,
    ) -> None:
        silence()
        from dbos import DBOS

        from touchline.engine.dbos_flow import DbosFlow, Running, register

        # Before the launch: what is recovered begins at once, and may start or park other work.
        super().__init__(pool, workbook)
        self.executor = executor
        jobs = sa.table(
            "workflow_status",
            *map(sa.column, ("workflow_uuid", "status", "executor_id")),
            schema=SCHEMA if place.path is None else None,
        )
        self.fenced = fenced
        self._runner = sa.select(jobs.c.executor_id).where(
            jobs.c.workflow_uuid == sa.bindparam("id"), jobs.c.status == "PENDING"
        )
        self._booked = sa.select(jobs.c.workflow_uuid).where(jobs.c.status == "PENDING", jobs.c.executor_id == executor)
        self._asking = Asking()
        self._dbos = DBOS
        self._running = Running()
        self._glance: Glance | None = None
        self._instance = instance = DBOS(config=configuration(pool, executor, poll))
        try:
            by_clock = register(workbook, lambda id: DbosFlow(id, self, database), self._running)
            with launching(place), told():
                make_tables(place)
                DBOS.launch()
            _limit(instance, slots or {})
            with told():
                for queue in workbook.queues.values():
                    DBOS.register_queue(
                        queue.name,
                        worker_concurrency=queue.slots,
                        polling_interval_sec=poll,
                        on_conflict="always_update",
                    )
            if place.path is not None:
                self._glance = look_first(instance._sys_db, engine_file(place))
            self._keep_time(workbook, by_clock)
        except BaseException:
            DBOS.destroy(destroy_registry=True)
            raise

    @property
    def drives(self) -> bool:
        return True

    @property
    def busy(self) -> int:
        """How many workflows are running in this process."""
        return self._running.count

    def recover(self, executor: str) -> int:
        """Put the running work of an executor known to be dead back into its queues; how many jobs.

        Conditional on that executor's name: what somebody else took meanwhile stays there. A private method of DBOS
        (the vendor's closed recovery service calls the same one); a test with two processes and SIGKILL watches it.
        """
        return len(self._dbos._recover_pending_workflows([executor]))

    def is_others(self, id: str) -> bool:
        """Whether a job that runs here was cancelled, or runs in another process by now. No, as long as that is not
        known: a server that is away comes back. Asked often, so not by `status`, which reads all there is of a job."""
        return bool(self._asking.ask(lambda: self._runner_of(id) != self.executor, otherwise=False))

    def _runner_of(self, id: str) -> str | None:
        with self._pool.connect() as connection:
            return connection.execute(self._runner, {"id": id}).scalar()

    def executors_at_work(self) -> set[str]:
        """Every executor that running work is booked on, dead or alive."""
        with told():
            found = self._client.list_workflows(status="PENDING", load_input=False, load_output=False)
        return {each.executor_id for each in found if each.executor_id}

    def strays(self) -> set[str]:
        """Jobs booked on this process that it is not running."""
        if self._glance is not None and not self._glance.sees(BOOKED, self.executor):
            return set()
        with told(), self._pool.connect() as connection:
            found = set(connection.execute(self._booked).scalars())
        return found - set(self._instance._active_workflows_set.activeList())

    def requeue(self, job: str) -> bool:
        """Put a stray job back into its queue; False when it is no longer this process's."""
        with told():
            return self._instance._sys_db.reenqueue_for_recovery(job, [self.executor], DEFAULT_QUEUE)

    def close(self, *, grace: float = 0.0) -> int:
        self._dbos.destroy(destroy_registry=True, workflow_completion_timeout_sec=int(grace + 0.5))
        if self._glance is not None:
            self._glance.close()
        self._asking.close()
        left = self.busy
        if not left:
            super().close()
        return left

    def _keep_time(self, workbook: Workbook, by_clock: dict[str, Any]) -> None:
        """The ticks of the workbook and no others: a tick that a later version dropped must not fire for ever."""
        wanted: builtins.list[Any] = [
            {
                "schedule_name": tick.name,
                "workflow_fn": by_clock[tick.workflow],
                "schedule": tick.cron,
                "queue_name": workbook.workflows[tick.workflow].queue,
            }
            for tick in workbook.ticks.values()
        ]
        with told():
            if wanted:
                self._dbos.apply_schedules(wanted)
            for kept in self._dbos.list_schedules():
                if kept["schedule_name"] not in workbook.ticks:
                    self._dbos.delete_schedule(kept["schedule_name"])


def _limit(instance: Any, slots: dict[str, int]) -> None:
    """Give this process its own number of slots per queue.

    DBOS keeps one number for all workers, in its database; machines differ. It asks for a queue's row before every
    poll, so the row is changed on its way. `test_two_workers_have_their_own_slots` fails when that stops working.
    """
    if not slots:
        return
    system = instance._sys_db
    read = system.get_queue

    def limited(name: str, *args: Any, **kwargs: Any) -> Any:
        queue = read(name, *args, **kwargs)
        if queue is not None and name in slots:
            queue._worker_concurrency = slots[name]
        return queue

    if any(count < 1 for count in slots.values()):
        raise EngineError(f"A worker needs at least one slot per queue, not {slots}.")
    system.get_queue = limited
