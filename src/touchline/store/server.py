"""How long do a client and a PostgreSQL server put up with each other's silence?

Without limits one frozen client stops every writer, and one that is cut off waits for an answer for many minutes. What
the address, PGOPTIONS or the server's own settings say goes before all of this.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

LOOK_SECONDS = 10
"""How long a server that does not answer is waited for."""
_PATIENCE = {
    "connect_timeout": LOOK_SECONDS,
    # A peer that vanished without a word is noticed after 10 + 3 * 5 s, with something under way or without.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


def patience(url: str) -> dict[str, int]:
    """Options of a connection. Without them a host that drops packets is waited for for minutes."""
    return {name: value for name, value in _PATIENCE.items() if f"{name}=" not in url}


def server_pool(url: str, *, size: int, more: int, idle_seconds: float, wait_seconds: float | None = None) -> sa.Engine:
    """Connections to a server. A transaction may do nothing for `idle_seconds`; a lock of another, and a connection
    while all are in use, are waited for for `wait_seconds`."""
    engine = sa.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=size,
        max_overflow=more,
        pool_timeout=wait_seconds or 30,
        connect_args=patience(url),
    )
    limits = {"idle_in_transaction_session_timeout": idle_seconds}
    if wait_seconds is not None:
        limits["lock_timeout"] = wait_seconds

    @event.listens_for(engine, "connect")
    def _(connection: Any, _record: object) -> None:
        # Not said in the connection's options: those of the address, or of PGOPTIONS, would be lost.
        for name, seconds in limits.items():
            connection.execute(
                f"select set_config('{name}', '{round(seconds * 1000)}ms', false) where current_setting('{name}') = '0'"
            )
        connection.commit()

    return engine
