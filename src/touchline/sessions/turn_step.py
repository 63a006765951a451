"""How is one turn of a session run so that a crash loses nothing? One step of the workflow, safe to be begun again.

The turn's row is written before its process starts, and the CLI's session id the moment it is known. Begun again after
a crash, the step resumes the CLI's own session with a short message; begun too often, it gives up (the crash guard).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from touchline.agents.environment import secrets_in
from touchline.agents.port import Driver, Found, Level, Request
from touchline.agents.pricing import priced
from touchline.agents.redaction import Redactor
from touchline.agents.turns import Ran, TurnLimits, run_turn
from touchline.agents.workspaces.undelivered import bring_back
from touchline.errors import SessionError
from touchline.sessions import governor, heard_times, snapshots
from touchline.sessions.contracts import contract_of
from touchline.sessions.preparing import installed
from touchline.sessions.prompting import prompt_of, with_turns_left
from touchline.sessions.raw import part_heard, raw_file
from touchline.sessions.records import SessionRecord, TurnRecord, session_record, turn_of_session, turns_of_session
from touchline.sessions.room import Room
from touchline.sessions.spending import spending_of
from touchline.sessions.state import Order, thrash_from_json
from touchline.sessions.telling import Teller
from touchline.sessions.texts import text
from touchline.sessions.turn_rows import begin_turn, end_turn, note_session, told_of_turn
from touchline.sessions.wanted import Unwanted
from touchline.sessions.watching import Boundary
from touchline.store.fault_points import fault_point
from touchline.supervision.facts import Call, Ended, Fault, Result, Text, Turn, steps_of
from touchline.supervision.loops import ThrashWatch

LEAST_USD = 0.000001
"""A limit that a CLI takes for one; a turn that may spend nothing is not started for long."""
MOST_BEGINNINGS = 3
"""A turn that Touchline died in so often is not begun again: something in it kills us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A turn about to run."""

    session: SessionRecord
    turn: TurnRecord
    order: Order
    torn: tuple[Turn, ...]
    """What streams of this turn that a crash cut off have told."""
    lost: bool = False
    """The CLI no longer has the conversation that was to go on."""


def run_one_turn(room: Room, id: str, number: int, must_stop: Callable[[], bool]) -> dict[str, Any]:
    """Run turn `number` to its end; one that has ended is not run again.

    Returns `{"end": "over"}`, or `stopped` when a person wants it to stop, `guarded` when it was begun too often, or
    `spending` when its build, or the day, has no money or tokens left.
    """
    with room.database.reading() as connection:
        session = session_record(connection, id)
        turns = turns_of_session(connection, id)
    turn = next((each for each in turns if each.number == number), None)
    if turn is not None and turn.ended is not None:
        return _end_of(session, turn)
    if session.stop_asked_at is not None:
        return {"end": "stopped"}
    order = session.state.order
    if order is None or order.number != number:
        raise SessionError(
            f"The session {id} has no order for turn {number}.", hint="touchline sessions show has more."
        )
    if turn is not None and turn.beginnings >= MOST_BEGINNINGS:
        return {"end": "guarded", "beginnings": turn.beginnings}
    driver, found = installed(room, session.agent)
    hold = governor.reserve(room, session, number, Unwanted(room, id, must_stop))
    if hold is None:
        return {"end": "stopped"}
    if isinstance(hold, governor.Refused):
        return {"end": "spending", "words": hold.words}
    order = with_turns_left(order, session, [each for each in turns if each.number < number], room.limits)
    torn = _torn(room, driver, session, turn)
    begun = _begin(room, session, order, torn, beginning=1 if turn is None else turn.beginnings + 1)
    fault_point("session.turn_begun")
    _run(room, begun, driver, found, hold, must_stop)
    fault_point("session.turn_ended")
    with room.database.reading() as connection:
        session = session_record(connection, id)
        ended = turn_of_session(connection, id, number)
    return _end_of(session, cast(TurnRecord, ended))


def _end_of(session: SessionRecord, turn: TurnRecord) -> dict[str, Any]:
    if (turn.stopped or "").startswith(governor.SPENDING):
        return {"end": "spending", "words": (turn.stopped or "").partition(": ")[2]}
    by_person = turn.ended == Ended.INTERRUPTED and session.stop_asked_at is not None
    return {"end": "stopped" if by_person else "over", "ended": turn.ended}


def _torn(room: Room, driver: Driver, session: SessionRecord, turn: TurnRecord | None) -> tuple[Turn, ...]:
    if turn is None:
        return ()
    folder = room.of(session.id)
    files = [raw_file(folder, turn.number, n) for n in range(1, turn.beginnings + 1)]
    return tuple(part_heard(driver, session, path, None) for path in files)


def _begin(
    room: Room, session: SessionRecord, order: Order, torn: tuple[Turn, ...], *, beginning: int, lost: bool = False
) -> _Begun:
    heard = sum(isinstance(event, Text | Call | Result) for part in torn for event in part.events)
    with room.database.writing() as connection:
        turn = begin_turn(connection, session, order, beginning=beginning, heard=heard, lost=lost)
    bring_back(Path(session.workspace))  # a check that was killed may have left files aside
    snapshots.keep(room.of(session.id), "before", order.number, Path(session.workspace))
    return _Begun(session=session, turn=turn, order=order, torn=torn if heard else (), lost=lost)


def _run(
    room: Room, begun: _Begun, driver: Driver, found: Found, hold: governor.Hold, must_stop: Callable[[], bool]
) -> None:
    redactor = Redactor(secrets_in(room.env))
    request = _request(room, begun, driver)
    ran, boundary = _heard(room, begun, request, driver, found, hold, must_stop, redactor)
    if request.session is not None and _never_spoke(ran.turn):
        # A CLI writes its conversation down a little after it happens; killed in between, it knows nothing of it.
        beginning = begun.turn.beginnings + 1
        begun = _begin(room, begun.session, begun.order, begun.torn, beginning=beginning, lost=True)
        ran, boundary = _heard(room, begun, _request(room, begun, driver), driver, found, hold, must_stop, redactor)
    fault_point("session.turn_over")
    folder, number = room.of(begun.session.id), begun.order.number
    snapshots.keep(folder, "after", number, Path(begun.session.workspace))
    heard_times.keep(folder, number, boundary.times)
    _end(room, begun, ran, boundary, redactor)


def _heard(
    room: Room,
    begun: _Begun,
    request: Request,
    driver: Driver,
    found: Found,
    hold: governor.Hold,
    must_stop: Callable[[], bool],
    redactor: Redactor,
) -> tuple[Ran, Boundary]:
    """Let the CLI run, and tell what it does as it does it."""
    session, number = begun.session, begun.order.number
    teller = Teller(room.writer, session.id, number, redact=redactor.text, task_id=session.asked.task_id)
    boundary = _boundary(room, begun, driver, teller, redactor)
    if begun.torn:
        heard = [event for part in begun.torn for event in part.events]
        with room.database.reading() as connection:
            teller.catch_up(heard, told=told_of_turn(connection, session.id, number))
    observe = governor.watched(boundary, hold)
    try:
        ran = run_turn(
            driver,
            request,
            found,
            level=cast(Level, session.sandbox),
            env=room.env,
            records=room.records,
            raw=raw_file(room.of(session.id), number, begun.turn.beginnings),
            limits=_limits(room, begun),
            observe=priced(observe) if session.asked.usd is not None or hold.counts_money else observe,
            must_stop=Unwanted(room, session.id, must_stop),
            on_session=lambda cli: note_session(room.database, session.id, number, cli),
            on_quiet=lambda seconds: teller.tell("session.quiet", seconds=round(seconds, 1)),
            spent_before=session.state.driver or None,
            allow=session.asked.environment,
        )
    finally:
        teller.close()
    return ran, boundary


def _never_spoke(turn: Turn) -> bool:
    """Whether the CLI ended by itself, with an error that is not its provider's, before the model said anything."""
    known = any(isinstance(event, Fault) and event.kind != "other" for event in turn.events)
    spoke = any(isinstance(event, Text | Call | Result) for event in turn.events)
    return turn.ended is Ended.CRASHED and not known and not spoke


def _end(room: Room, begun: _Begun, ran: Ran, boundary: Boundary, redactor: Redactor) -> None:
    turn = ran.turn
    finished = turn.ended is Ended.FINISHED and begun.order.kind != "nudge"
    said = boundary.watch.said(turn.final_text) if finished else None
    with room.database.writing() as connection:
        end_turn(
            connection,
            begun.session.id,
            begun.turn,
            ran,
            torn=begun.torn,
            final_text=redactor.text(turn.final_text),
            state={
                "watch": boundary.watch.to_json(),
                "thrash": said or boundary.current,
                "reminded": _really_reminded(begun, ran, boundary),
                "planning_at": boundary.planning_at,
                "pending": (*_unsaid_before(begun), *boundary.pending, *ran.unsaid),
                "driver": dict(ran.spent),
            },
        )
        governor.settle(room, connection, begun.session, begun.order.number)


def _unsaid_before(begun: _Begun) -> tuple[str, ...]:
    """A nudge carries no reminders: they wait for the message after it."""
    return begun.session.state.pending if begun.order.kind == "nudge" else ()


def _really_reminded(begun: _Begun, ran: Ran, boundary: Boundary) -> Any:
    """A reminder that came too late to be spoken has reminded nobody; it goes with the next message."""
    if boundary.reminded is not None and any(boundary.reminded.message in words for words in ran.unsaid):
        return thrash_from_json(begun.session.state.reminded)
    return boundary.reminded


def _boundary(room: Room, begun: _Begun, driver: Driver, teller: Teller, redactor: Redactor) -> Boundary:
    session, state = begun.session, begun.session.state
    boundary = Boundary(
        ThrashWatch.from_json(state.watch, limits=room.limits) if state.watch else ThrashWatch(limits=room.limits),
        first=begun.turn.first_call,
        teller=teller,
        speaks=driver.abilities.speak,
        read_only=session.asked.read_only,
        reminded=thrash_from_json(state.reminded),
        planning_at=state.planning_at,
        tokens_left=_tokens_left(room, session),
        usd_left=_usd_left(room, session),
        redact=redactor.text,
    )
    if begun.order.kind in ("answer", "resume"):
        boundary.watch.told()
    boundary.feed([step for part in begun.torn for step in steps_of(part, first=boundary.calls)])
    return boundary


def _tokens_left(room: Room, session: SessionRecord) -> int | None:
    if session.asked.tokens is None:
        return None
    with room.database.reading() as connection:
        return session.asked.tokens - spending_of(turns_of_session(connection, session.id)).tokens


def _usd_left(room: Room, session: SessionRecord) -> float | None:
    if session.asked.usd is None:
        return None
    with room.database.reading() as connection:
        return session.asked.usd - (spending_of(turns_of_session(connection, session.id)).usd or 0.0)


def _request(room: Room, begun: _Begun, driver: Driver) -> Request:
    session, order, asked = begun.session, begun.order, begun.session.asked
    contract = contract_of(asked.contract, session.marker)
    # A torn turn in which something was heard goes on in the session that was heard; else it begins as it was ordered.
    torn = bool(begun.torn) and begun.turn.cli_session_id is not None
    resumed = begun.turn.cli_session_id if torn else (None if order.fresh else session.cli_session_id)
    known = None if begun.lost or not driver.abilities.resume else resumed
    words = text("interrupted") if torn and known else prompt_of(session, order, contract, resumed=known is not None)
    return Request(
        prompt=words,
        workspace=Path(session.workspace),
        session=known,
        model=asked.model,
        read_only=asked.read_only,
        schema=contract.schema if contract is not None else None,
        folders=tuple(map(Path, asked.folders)),
        plugins=tuple(map(Path, asked.plugins)),
        max_requests=asked.requests,
        max_usd=None if (left := _usd_left(room, session)) is None else max(left, LEAST_USD),
        flags=asked.flags,
        settings=asked.settings,
    )


def _limits(room: Room, begun: _Begun) -> TurnLimits:
    asked = begun.session.asked
    seconds = min(asked.turn_seconds, begun.order.seconds or asked.turn_seconds)
    if asked.seconds is not None:
        with room.database.reading() as connection:
            spent = spending_of(turns_of_session(connection, begun.session.id)).seconds
        seconds = min(seconds, max(1.0, asked.seconds - spent))
    return TurnLimits(seconds=seconds, silence_seconds=asked.silence_seconds)
