"""When and how a turn is ended although the agent goes on: limits, silence, stops. Real programs, no CLI."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.turning import Seat, once

from touchline.agents.turns import Stop, TurnLimits
from touchline.supervision.facts import Call, Ended, Event


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(folder=tmp_path)


def left(seat: Seat) -> list[Path]:
    """Records of children that were not taken away."""
    return list(seat.records.glob("*")) if seat.records.exists() else []


@pytest.mark.timeout(30)
def test_the_time_limit_ends_it(seat: Seat) -> None:
    ran = seat.run(
        seat.program("begin(); speak('thinking'); time.sleep(600)"), limits=TurnLimits(seconds=1, grace_seconds=0.3)
    )
    assert ran.turn.ended is Ended.TIMED_OUT
    assert "longer than 1 seconds" in ran.stopped
    assert ran.turn.final_text == "thinking"


@pytest.mark.timeout(30)
def test_silence_alone_ends_nothing(seat: Seat) -> None:
    ran = seat.run(
        seat.program("begin(); speak('thinking'); time.sleep(1.5); speak('thought'); result()"),
        limits=TurnLimits(seconds=300, silence_seconds=0.3, grace_seconds=0.3),
    )
    assert ran.turn.ended is Ended.FINISHED
    assert ran.stopped == ""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("args", ["command='make'", "command='make', timeout=600000"])
def test_silence_never_ends_a_running_tool(seat: Seat, args: str) -> None:
    ran = seat.run(
        seat.program(f"begin(); call({args}); time.sleep(1.5); answer(); speak('built'); result()"),
        limits=TurnLimits(seconds=300, silence_seconds=0.3, grace_seconds=0.3),
    )
    assert ran.turn.ended is Ended.FINISHED
    assert ran.stopped == ""


@pytest.mark.timeout(30)
def test_a_tool_past_its_own_time_out_is_not_believed_for_ever(seat: Seat) -> None:
    ran = seat.run(
        seat.program("begin(); call(command='make', timeout=1000); time.sleep(600)"),
        limits=TurnLimits(seconds=300, silence_seconds=0.3, tool_grace_seconds=0.2, grace_seconds=0.3),
    )
    assert ran.turn.ended is Ended.TIMED_OUT
    assert "past their own time-outs" in ran.stopped


@pytest.mark.timeout(30)
def test_a_stop_is_first_put_into_words(seat: Seat) -> None:
    body = """
begin(); heard(); call(command='loop')
said = heard()
assert said['type'] == 'control_request' and said['request']['subtype'] == 'interrupt', said
answer('stopped'); result(subtype='error_during_execution', is_error=True, terminal_reason='aborted_tools')
"""
    ran = seat.run(seat.program(body), observe=once(Call, Stop(why="it loops")))
    assert ran.stopped == "it loops"
    assert ran.turn.ended is Ended.KILLED
    assert ran.turn.exit_code == 0, "it ended by itself, and yet this is no success"
    assert ran.errors == ""


@pytest.mark.timeout(30)
def test_a_stop_by_a_person_is_an_interruption(seat: Seat) -> None:
    ran = seat.run(
        seat.program("begin(); call(command='loop'); time.sleep(600)"),
        observe=once(Call, Stop(why="enough", ended_by="user")),
        limits=TurnLimits(seconds=300, grace_seconds=0.3),
    )
    assert ran.turn.ended is Ended.INTERRUPTED


@pytest.mark.timeout(30)
def test_a_program_that_ignores_everything_is_killed(seat: Seat) -> None:
    body = """
import signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
begin(); call(command='loop')
while True: time.sleep(600)
"""
    ran = seat.run(
        seat.program(body), observe=once(Call, Stop(why="it loops")), limits=TurnLimits(seconds=300, grace_seconds=0.3)
    )
    assert ran.turn.ended is Ended.KILLED
    assert ran.turn.exit_code == -9
    assert left(seat) == []


@pytest.mark.timeout(30)
def test_must_stop_is_asked_and_obeyed(seat: Seat) -> None:
    asked: list[int] = []

    def must_stop() -> bool:
        asked.append(1)
        return len(asked) > 1

    ran = seat.run(
        seat.program("begin(); speak('working'); time.sleep(600)"),
        must_stop=must_stop,
        limits=TurnLimits(seconds=300, grace_seconds=0.3),
    )
    assert ran.turn.ended is Ended.INTERRUPTED
    assert ran.stopped == "it was asked to stop"
    assert len(asked) == 2


@pytest.mark.timeout(30)
def test_an_observer_that_raises_leaves_no_process(seat: Seat) -> None:
    def observe(event: Event) -> None:
        if isinstance(event, Call):
            raise RuntimeError("the observer broke")

    with pytest.raises(RuntimeError, match="the observer broke"):
        seat.run(seat.program("begin(); call(command='x'); time.sleep(600)"), observe=observe)
    assert left(seat) == []
