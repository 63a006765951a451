"""What runs in a process that does the roles' work? Sessions and builds, with what a dead process left put in order.

Whoever runs the work of a database must know every workflow in it, whichever command it was started by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from touchline.engine.port import Engine
from touchline.store.database import Database
from touchline.store.place import Place


def know_workflows() -> None:
    """Put all workflows of sessions and roles into the book. Before the engine starts."""
    import touchline.roles.build.building
    import touchline.roles.review.architect
    import touchline.sessions.loop  # noqa: F401


@contextmanager
def working(place: Place, **options: Any) -> Iterator[tuple[Engine, Database]]:
    """Like `working_sessions`, whose options it takes, and with builds."""
    from touchline.roles.build.pruning import prune_builds
    from touchline.roles.build.reconciling import reconcile_builds
    from touchline.sessions.room import current_room, working_sessions

    know_workflows()
    with working_sessions(place, **options) as (engine, database):
        prune_builds(current_room())
        reconcile_builds(engine, current_room())
        yield engine, database
