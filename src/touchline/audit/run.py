"""How are many logs audited at once?

Files are shared out over worker processes, the biggest first; each worker holds one turn at a time and sends back
findings only. A file that cannot be read, or whose worker dies, is reported and stops nothing.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from touchline.audit.findings import SessionFinding, Unreadable
from touchline.audit.selection import Chosen, Filters
from touchline.audit.session import audit_turns
from touchline.audit.summary import Summary, summarise
from touchline.transcripts import read_log

SMALL = 16 << 20
"""Below this many bytes in all, starting workers costs more than they save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One file to audit; picklable, so that a worker process can take it."""

    path: str
    size: int
    filters: Filters
    with_calls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAudit:
    """What came of one file: its sessions, or why there are none."""

    job: Job
    sessions: tuple[SessionFinding, ...] = ()
    unreadable: Unreadable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A whole audit."""

    sessions: tuple[SessionFinding, ...]
    """Oldest first; sessions without a time come last."""
    unreadable: tuple[Unreadable, ...]
    files: int
    """Files looked at, readable or not."""
    bytes: int
    filters: Filters
    summary: Summary


Progress = Callable[[int, int, str], None]
"""Called after every file with the bytes done, the bytes in all, and the file's path."""
AuditFile = Callable[[Job], FileAudit]


def audit(
    chosen: Chosen,
    *,
    filters: Filters | None = None,
    jobs: int = 1,
    worst: int = 10,
    with_calls: bool = False,
    progress: Progress | None = None,
    audit_file: AuditFile | None = None,
) -> Audit:
    """Audit the chosen logs.

    With `jobs` > 1 worker processes are started afresh, so a script that calls this needs the usual
    `if __name__ == "__main__":` guard. The result does not depend on `jobs`.
    """
    filters = filters or Filters()
    work = [Job(path=str(log.path), size=log.size, filters=filters, with_calls=with_calls) for log in chosen.logs]
    work.sort(key=lambda job: (-job.size, job.path))
    total = sum(job.size for job in work)
    done = 0
    sessions: list[SessionFinding] = []
    unreadable = list(chosen.unreadable)
    for file_audit in _each(work, min(jobs, len(work)), total, audit_file or audit_one):
        sessions.extend(file_audit.sessions)
        if file_audit.unreadable is not None:
            unreadable.append(file_audit.unreadable)
        done += file_audit.job.size
        if progress is not None:
            progress(done, total, file_audit.job.path)
    sessions.sort(key=_order)
    return Audit(
        sessions=tuple(sessions),
        unreadable=tuple(sorted(unreadable, key=lambda u: u.path)),
        files=len(work) + len(chosen.unreadable),
        bytes=total,
        filters=filters,
        summary=summarise(sessions, worst=worst),
    )


def audit_one(job: Job) -> FileAudit:
    """Audit one file, in whatever process this runs. Never raises: what goes wrong is what came of the file."""
    try:
        with _seldom_collected():
            found = audit_turns(read_log(Path(job.path)), path=job.path, with_calls=job.with_calls)
        if not found:
            return _failed(job, "no turn found in it")
        return FileAudit(job=job, sessions=tuple(s for s in found if job.filters.keep(s)))
    except Exception as error:
        return _failed(job, f"{type(error).__name__}: {error}")


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the cycle collector run rarely: turns have no cycles, and looking for some is a tenth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 50_000), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _each(work: Sequence[Job], jobs: int, total: int, audit_file: AuditFile) -> Iterator[FileAudit]:
    if jobs <= 1 or (total < SMALL and audit_file is audit_one):
        yield from map(audit_file, work)
        return
    waiting = list(reversed(work))
    while waiting:
        in_flight: list[Job] = []
        yield from _pooled(waiting, in_flight, jobs, audit_file)
        # A pool that breaks takes every running file with it; alone, each shows whether it was the cause.
        for job in in_flight:
            yield _alone(job, audit_file)


def _pooled(waiting: list[Job], in_flight: list[Job], jobs: int, audit_file: AuditFile) -> Iterator[FileAudit]:
    """Work off `waiting`; what was running when the pool broke is left in `in_flight`."""
    running: dict[Future[FileAudit], Job] = {}
    with _pool(jobs) as pool:
        try:
            while waiting or running:
                # Few files at a time: findings come back as they are made, and little is lost when a worker dies.
                while waiting and len(running) < jobs * 2:
                    running[_submitted(pool, audit_file, waiting[-1])] = waiting[-1]
                    waiting.pop()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    found = future.result()
                    del running[future]
                    yield found
        except BrokenProcessPool:
            in_flight.extend(running.values())


def _alone(job: Job, audit_file: AuditFile) -> FileAudit:
    with _pool(1) as pool:
        try:
            return _submitted(pool, audit_file, job).result()
        except BrokenProcessPool:
            return _failed(job, "the process that read it died (out of memory, or a crash of the interpreter)")


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Workers that end with this block: after their files normally, at once when it is left by an interrupt."""
    # Fresh processes rather than forks: a fork carries the parent's memory and its progress bar's thread along.
    others = set(active_children())
    pool = ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn"))
    try:
        yield pool
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, audit_file: AuditFile, job: Job) -> Future[FileAudit]:
    # Ctrl-C goes to every process of the terminal, and only the parent answers it: workers are started with the
    # signal blocked, since a handler of their own would come too late.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(audit_file, job)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _failed(job: Job, why: str) -> FileAudit:
    return FileAudit(job=job, unreadable=Unreadable(path=job.path, why=why, size=job.size))


def _order(session: SessionFinding) -> tuple[bool, float, str, str]:
    began = session.started_at
    return (began is None, began.timestamp() if began else 0.0, session.path, session.id)
