"""What does a step do while the database is away? It waits, and begins its work again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from touchline.errors import ServerAway

T = TypeVar("T")
AWAY_SECONDS = 300.0
"""How long a database that does not answer is waited for; a restart takes seconds."""
_WORKED_SECONDS = 60.0
"""Work that lasted so long before it failed had the database until then: a new outage begins."""


def patiently(work: Callable[..., T], *args: Any) -> T:
    """What the work returns, begun again until the database is back; its error when that takes too long.

    Only for work that may be done twice: every step of a workflow is.
    """
    away_since: float | None = None
    while True:
        began = time.monotonic()
        try:
            return work(*args)
        except ServerAway:
            failed = time.monotonic()
            if away_since is None or failed - began > _WORKED_SECONDS:
                away_since = failed
            if failed - away_since > AWAY_SECONDS:
                raise
            time.sleep(1.0)
