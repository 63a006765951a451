"""Which limit holds for a session? Its build's, else the day's from the environment, else none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from touchline.errors import SettingsError
from touchline.sessions.records import SessionRecord
from touchline.store.tables import builds, tasks

DAY = "day"
VARIABLES = {"tokens": "TOUCHLINE_DAY_TOKENS", "usd": "TOUCHLINE_DAY_USD", "runs_per_day": "TOUCHLINE_DAY_RUNS"}
"""For sessions that belong to no build: what they may spend together in a day (UTC)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendLimit:
    """What all sessions of one scope may spend together; None is no limit."""

    scope: str
    """`build:<id>`, or `day`."""
    title: str
    """The same for people."""
    build_id: str | None = None
    tokens: int | None = None
    usd: float | None = None
    runs_per_day: int | None = None


def limit_for(connection: sa.Connection, session: SessionRecord, env: Mapping[str, str]) -> SpendLimit | None:
    """The limit that a session is under; None when nobody set one. SettingsError for one that is no number."""
    row = None
    if session.asked.task_id is not None:
        query = sa.select(builds.c.id, builds.c.budget).join(tasks, tasks.c.build_id == builds.c.id)
        row = connection.execute(query.where(tasks.c.id == session.asked.task_id)).first()
    if row is not None:
        given = {name: (row.budget or {}).get(name) for name in VARIABLES}
        names = {name: f"the budget of build {row.id}: {name}" for name in VARIABLES}
        scope, title, build = f"build:{row.id}", f"The build {row.id}", row.id
    else:
        given = {name: env.get(variable) or None for name, variable in VARIABLES.items()}
        names = dict(VARIABLES)
        scope, title, build = DAY, "Today's work", None
    if all(value is None for value in given.values()):
        return None
    return SpendLimit(
        scope=scope,
        title=title,
        build_id=build,
        tokens=_whole(given["tokens"], names["tokens"]),
        usd=_number(given["usd"], names["usd"]),
        runs_per_day=_whole(given["runs_per_day"], names["runs_per_day"]),
    )


def _whole(value: Any, name: str) -> int | None:
    found = _number(value, name)
    if found is not None and found != int(found):
        raise SettingsError(f"{name} is {value!r}, which is no whole number.", hint="Such as 500000.")
    return None if found is None else int(found)


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        found = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found) or found < 0:
        raise SettingsError(f"{name} is {value!r}, which is no amount.", hint="Give a number, or leave it out.")
    return found
