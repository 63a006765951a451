"""How are times, JSON and ids written? One format on every database.

Times are UTC, as text with microseconds and a `Z`, so that they sort as they are and read the same everywhere.
"""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def written(moment: datetime) -> str:
    """A moment in the one format. A time without a zone is refused: nobody could tell what it means."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; times are kept in UTC.")
    return moment.astimezone(UTC).strftime(FORMAT)


def new_id(kind: str) -> str:
    """A new id such as `task_0192f0c1a2b3_4f9e21d07c5a`: ids of one kind sort by when they were made."""
    return f"{kind}_{int(time.time() * 1000):012x}_{secrets.token_hex(6)}"


class Moment(TypeDecorator[datetime]):
    """A time-zone aware time."""

    impl = sa.String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else written(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class Json(TypeDecorator[Any]):
    """A JSON value, written with sorted keys so that equal values are equal texts."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"))

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)
