"""What is known of a session? Its row and its turns as frozen values, for whoever shows or decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from touchline.errors import SessionError
from touchline.sessions.asked import Asked
from touchline.sessions.state import State
from touchline.store.tables import coaching, decisions, questions, sessions, turns

ENDED = frozenset({"delivered", "failed", "dropped", "stopped"})
"""Nothing runs or waits in these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One session, as its row says."""

    id: str
    asked: Asked
    agent: str
    """The driver that was chosen; empty until it is."""
    model: str | None
    status: str
    """starting, running, waiting, suspended, stopped, delivered, failed or dropped."""
    reason: str | None
    """Why it is in this status, in one word."""
    detail: str
    """The same for people."""
    repository: str
    workspace: str
    """The agent's own clone; empty until it was made."""
    base_commit: str | None
    head_commit: str | None
    """What the agent's commits were imported as, in refs/touchline/<session>/head."""
    sandbox: str | None
    """The confinement in force, and why it is that one."""
    sandbox_why: str
    cli_session_id: str | None
    marker: str | None
    phase: str | None
    turns: int
    continuations: int
    failures: int
    nudged: bool
    runs: int
    """How often it was started or resumed by a person."""
    question_id: str | None
    """The question it waits for."""
    stop_by: str | None
    """Who asked it to stop, while it has not stopped yet."""
    stop_asked_at: datetime | None
    delivery: str | None
    """How the result stands: accepted, unresolved or error."""
    spent: Mapping[str, Any]
    """`turns`, `tokens`, `usd` (null: unknown), `seconds`, `models`."""
    result: Mapping[str, Any]
    """What was delivered; empty until then."""
    state: State
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def job(self) -> str:
        """The id of the workflow that runs it now, or ran it last."""
        return job_id(self.id, self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """One turn of a session, as its row says."""

    id: str
    session_id: str
    number: int
    kind: str | None
    """first, continue, steer, nudge, retry, review, answer or resume."""
    prompt: str
    ended: str | None
    """None while it runs, or was torn off by a crash."""
    end_detail: str
    exit_code: int | None
    stopped: str | None
    """Why Touchline ended it, when it did."""
    stop_kind: str | None
    final_text: str
    raw_path: str | None
    cli_session_id: str | None
    beginnings: int
    """How often its process was started; more than once after a crash of Touchline."""
    first_call: int
    """Index of its first call, counted over the session."""
    usage: Mapping[str, Any]
    """Tokens by model."""
    cost_usd: float | None
    seconds: float | None
    check_run: Mapping[str, Any]
    """Touchline's own run of the check after this turn."""
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """What was decided after a turn."""

    turn_id: str | None
    action: str
    reason: str
    message: str
    evidence: Mapping[str, Any]
    at: datetime
    tier: str | None
    """Where the agent was coached: which tier the words came from."""


# Asked several times in each turn: putting a query together costs more than running it.
_BY_ID = sa.select(sessions).where(sessions.c.id == sa.bindparam("id"))
_TURNS = sa.select(turns).where(turns.c.session_id == sa.bindparam("id")).order_by(turns.c.number)
_TURN = sa.select(turns).where(turns.c.session_id == sa.bindparam("id"), turns.c.number == sa.bindparam("number"))


def job_id(session: str, run: int) -> str:
    """The workflow of one run of a session."""
    return f"{session}/run-{run}"


def session_record(connection: sa.Connection, id: str) -> SessionRecord:
    """The session. SessionError when there is none; the beginning of an id, or of the last part of it, is enough where
    only one fits: ids of sessions that were started together begin alike."""
    row = connection.execute(_BY_ID, {"id": id}).mappings().first()
    if row is None and id:
        found = connection.execute(sa.select(sessions).where(_begins(id)).limit(2)).mappings().all()
        if len(found) > 1:
            raise SessionError(f"More than one session begins with {id!r}.", hint="Give more of its id.")
        row = found[0] if found else None
    if row is None:
        raise SessionError(f"There is no session {id!r}.", hint="See:", then="sessions list")
    return _session(row)


def list_sessions(
    connection: sa.Connection, *, statuses: Sequence[str] = (), limit: int = 50
) -> tuple[SessionRecord, ...]:
    """Sessions, newest first."""
    query = sa.select(sessions).order_by(sessions.c.created_at.desc(), sessions.c.id.desc()).limit(limit)
    if statuses:
        query = query.where(sessions.c.status.in_(list(statuses)))
    return tuple(_session(row) for row in connection.execute(query).mappings())


def turns_of_session(connection: sa.Connection, id: str) -> tuple[TurnRecord, ...]:
    """Its turns, oldest first."""
    return tuple(_turn(row) for row in connection.execute(_TURNS, {"id": id}).mappings())


def turn_of_session(connection: sa.Connection, id: str, number: int) -> TurnRecord | None:
    """One turn, or None when it was never begun."""
    row = connection.execute(_TURN, {"id": id, "number": number}).mappings().first()
    return None if row is None else _turn(row)


def decisions_of_session(connection: sa.Connection, id: str) -> tuple[DecisionRecord, ...]:
    """What was decided, oldest first."""
    query = (
        sa.select(decisions, coaching.c.tier)
        .outerjoin(coaching, coaching.c.decision_id == decisions.c.id)
        .where(decisions.c.session_id == id)
        .order_by(decisions.c.at, decisions.c.id)
    )
    names = [each.name for each in fields(DecisionRecord)]
    return tuple(DecisionRecord(**{name: row[name] for name in names}) for row in connection.execute(query).mappings())


def question_of_session(connection: sa.Connection, record: SessionRecord) -> str:
    """The words of the question that the session waits for; empty when it waits for none."""
    query = sa.select(questions.c.text).where(questions.c.id == record.question_id)
    return str(connection.execute(query).scalar() or "")


def _begins(id: str) -> sa.ColumnElement[bool]:
    begin = id.replace("/", "//").replace("%", "/%").replace("_", "/_") + "%"
    return sa.or_(sessions.c.id.like(begin, escape="/"), sessions.c.id.like("session/_%/_" + begin, escape="/"))


def _session(row: sa.RowMapping) -> SessionRecord:
    values = {each.name: row[each.name] for each in fields(SessionRecord)}
    values["asked"] = Asked.from_json(row["asked"])
    values["state"] = State.from_json(row["state"])
    return SessionRecord(**values)


def _turn(row: sa.RowMapping) -> TurnRecord:
    return TurnRecord(**{each.name: cast(Any, row[each.name]) for each in fields(TurnRecord)})
