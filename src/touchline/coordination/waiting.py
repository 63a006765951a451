"""How does one wait for a lease? Ask, sleep until woken or until it is time to look again, ask again."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from touchline.coordination import waits
from touchline.coordination.leases import LEASE_SECONDS, Denied, Granted, acquire, withdraw
from touchline.store.columns import now
from touchline.store.database import Database
from touchline.store.events import Ids
from touchline.store.wake import Wake

ASK_SECONDS = 5.0
"""How long one sleeps without being woken before asking anyway: the waker may have died."""
_LEAST_SECONDS = 0.25
"""How long one sleeps at least, unless woken."""
_LOOK_SECONDS = 0.02
"""At most so often the own row is looked at, however busy the log is."""


def wait_for(
    database: Database,
    *,
    holder: str,
    resources: Sequence[str],
    timeout: float,
    priority: int = 0,
    seconds: float = LEASE_SECONDS,
    stop: threading.Event | None = None,
    ids: Ids | None = None,
) -> Granted | Denied:
    """The lease, or after `timeout` seconds, or when `stop` is set, the last denial; then nobody waits any more."""
    ended = stop or threading.Event()
    deadline = time.monotonic() + timeout
    answer: Granted | Denied | None = None
    try:
        with Wake(database) as wake:
            while True:
                mark = wake.mark()
                answer = acquire(
                    database, holder=holder, resources=resources, priority=priority, seconds=seconds, ids=ids
                )
                if isinstance(answer, Granted) or ended.is_set() or time.monotonic() >= deadline:
                    return answer
                ask_at = min(deadline, time.monotonic() + _pause(answer))
                while not ended.is_set() and time.monotonic() < ask_at and not _is_woken(database, holder):
                    wake.wait(mark, stop=ended.is_set)
                    mark = wake.mark()
                    ended.wait(_LOOK_SECONDS)
    finally:
        if not isinstance(answer, Granted):
            withdraw(database, holder=holder)


def _pause(denied: Denied) -> float:
    """Until something in the way may run out, which nobody rings a bell for."""
    soonest = min(blocker.until for blocker in denied.blockers)
    # The clock of another machine may be meant: only how soon one asks depends on it, never the answer.
    return min(ASK_SECONDS, max(_LEAST_SECONDS, (soonest - now()).total_seconds()))


def _is_woken(database: Database, holder: str) -> bool:
    with database.reading() as connection:
        return waits.is_woken(connection, holder)
