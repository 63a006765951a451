"""How a build looks: its tasks with their state and cost, what an agent does now, and what waits for a person."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console
from tests.roles.yard import task

from touchline.cli.build_output import print_seen
from touchline.cli.build_view import LiveBuildView
from touchline.questions.question import QuestionRecord
from touchline.roles.build.overview import Cost, Overview, TaskOverview
from touchline.roles.build.rows import BuildRow, TaskRow
from touchline.roles.build.settings import BuildSettings
from touchline.roles.build.states import State
from touchline.store.events import Event, Ids

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUILD = BuildRow(
    id="build_1", spec_id="spec_1", status="running", reason="started", detail="", repository="/r", workshop="/w",
    base_commit=None, head_commit=None, settings=BuildSettings(), wanted="run", runs=1, result={}, started_at=NOON,
    ended_at=None, created_at=NOON,
)  # fmt: skip
QUESTION = QuestionRecord(
    id="question_1", kind="blocking", role="build", agent="build_1", trigger="stop", subject="s", text="Which port?",
    context="", options=(), default=None, free_text=True, blocking=True, irreversible=False, status="open", phase=None,
    tags=(), session_id=None, task_id="task_2", build_id="build_1", created_at=NOON,
)  # fmt: skip


def shown_task(number: int, status: str, state: State, work: Cost, waits: str = "") -> TaskOverview:
    row = TaskRow(
        id=f"task_{number}", build_id="build_1", task=task(f"T-00{number}", f"{number}.py", status=status), state=state,
        origin=None, reason=None, attempts=1, plan="", lesson="", data={"commit": "0123456789abcdef"},
    )  # fmt: skip
    return TaskOverview(
        row=row, waits=waits, work=work, supervision=Cost(tokens=200, usd=0.5) if work.tokens else Cost()
    )


SEEN = Overview(
    build=BUILD,
    tasks=(
        shown_task(1, "complete", State.DONE, Cost(tokens=1_000, usd=1.0, estimated=True)),
        shown_task(2, "in_progress", State.QUESTION, Cost(tokens=3_000, usd=2.0, untold=1)),
        shown_task(3, "in_progress", State.CODING, Cost()),
        shown_task(4, "pending", State.SETUP, Cost(), waits="waits for T-003"),
    ),
    supervision=Cost(tokens=700, usd=1.2),
    questions=(QUESTION,),
)


def test_the_status_shows_what_each_task_and_the_build_cost(capsys: pytest.CaptureFixture[str]) -> None:
    print_seen(SEEN)
    lines = {line.split()[0]: " ".join(line.split()) for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert lines["T-001"] == "T-001 complete Make 1.py 1.20k about $1.50 0123456789", "a price, not a bill"
    assert "3.20k $2.50+" in lines["T-002"], "the plus: a turn did not tell its cost"
    assert lines["T-004"] == "T-004 pending Make 4.py waits for T-003"
    assert lines["cost"] == "cost 4.70k tokens, about $4.20 and more (700 of it supervision)"


def called(number: int, command: str) -> Event:
    payload: dict[str, Any] = {"number": 1, "call": "c", "tool": "Bash", "args": {"command": command}}
    ids = Ids(session=f"task_{number}-coding-1", task=f"task_{number}")
    return Event(seq=1, at=NOON, type="agent.called", version=1, payload=payload, source="s", ids=ids, cause=None)


def test_the_live_view_shows_states_deeds_cost_and_questions() -> None:
    screen = Console(file=io.StringIO(), width=120, force_terminal=False)
    view = LiveBuildView(console=screen, clock=lambda: 0.0)
    try:
        view.event(called(3, "pytest -q tests/test_three.py"))  # before anybody knows the names
        view.look(SEEN)
        with screen.capture() as captured:
            screen.print(view)
    finally:
        view.close()
    text = captured.get()
    for words in (
        "T-001  complete  Make 1.py",
        "T-002  question",
        "pytest -q tests/test_three.py",
        "waits for T-003",
        "? Which port?",
        "touchline inbox answer question_1",
        "1 of 4 done",
        "$4.20 and more (700 of it supervision)",
    ):
        assert " ".join(words.split()) in " ".join(text.split()), text
