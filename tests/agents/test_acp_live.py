"""The real OpenCode and Gemini CLI, spoken with over the Agent Client Protocol, against a rehearsal server.

These CLIs take seconds to start, so each test shows several things in one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.confined import needs_bubblewrap
from tests.agents.turning import Seat, alive, once, seat_of
from tests.clis import CliHome, home_for

from touchline.agents.acp_presets import opencode
from touchline.agents.turns import Ran, Stop, TurnLimits
from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import RehearsalServer, serving
from touchline.supervision.facts import Call, Ended, Result, Text, Usage, steps_of
from touchline.transcripts import read_log

pytestmark = pytest.mark.timeout(400)
BOTH = pytest.mark.parametrize("cli", ["opencode", "gemini"])


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(cli: Cli, server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for(cli, server, tmp_path)


@pytest.fixture
def seat(home: CliHome, tmp_path: Path) -> Seat:
    return seat_of(home, tmp_path)


def run(seat: Seat, **more: Any) -> Ran:
    """With time enough for a cold start on a busy machine."""
    return seat.run(limits=TurnLimits(seconds=150, grace_seconds=10), **more)


@BOTH
def test_work_is_done_and_the_session_goes_on(cli: Cli, home: CliHome, seat: Seat) -> None:
    home.play("""
turns:
- text: I write it.
  calls: [{write: hello.py, content: "print('hello')\\n"}]
- text: I run it.
  calls: [{shell: python3 hello.py; exit 3}]
- text: It ran, and failed.
- text: Once more.
  calls: [{shell: echo second}]
- text: The second part is done.
""")
    ran = run(seat, prompt="Create hello.py and run it.")
    first = ran.turn
    assert first.ended is Ended.FINISHED, (first.end_detail, ran.errors)
    assert (home.workspace / "hello.py").read_text() == "print('hello')\n"
    assert first.final_text == "It ran, and failed."
    assert seat.sessions == [first.session_id]
    written, shown = steps_of(first)
    assert written.call.args["content"] == "print('hello')\n"
    assert shown.call.args["command"] == "python3 hello.py; exit 3"
    assert shown.result is not None
    assert shown.result.text.strip() == "hello"
    assert shown.result.exit_code == (3 if cli == "opencode" else None)
    if cli == "opencode":
        assert first.usage == Usage(input=1000, output=50, cache_read=200)
        assert first.cost_usd == pytest.approx(3 * 0.00381)
    else:
        assert first.usage == Usage(input=3600, output=150)
    # In the same minute: Gemini CLI by itself would lose the session here.
    again = run(seat, prompt="Go on.", session=first.session_id, spent_before=ran.spent)
    second = again.turn
    assert second.ended is Ended.FINISHED, (second.end_detail, again.errors)
    assert second.session_id == first.session_id
    assert [event.text for event in second.events if isinstance(event, Text)] == [
        "Once more.",
        "The second part is done.",
    ]
    assert [dict(step.call.args)["command"] for step in steps_of(second)] == ["echo second"]
    assert second.cost_usd == (pytest.approx(2 * 0.00381) if cli == "opencode" else None)
    assert home.report().used_up
    (saved,) = read_log(again.raw)
    assert [event for event in saved.events if isinstance(event, Text | Call | Result)] == [
        event for event in second.events if isinstance(event, Text | Call | Result)
    ]


@BOTH
def test_it_is_interrupted_in_the_sandbox_and_nothing_is_left(home: CliHome, seat: Seat) -> None:
    needs_bubblewrap()
    home.play("""
turns:
- text: It takes long.
  calls: [{shell: echo begin; sleep 2873; echo end}]
- text: Never reached.
""")
    ran = run(seat, level="bubblewrap", observe=once(Call, Stop(why="it waits")))
    assert ran.stopped == "it waits"
    assert ran.turn.ended is Ended.KILLED
    # Gemini CLI forgets what was cancelled; it is ended from outside.
    assert (b'"stopReason":"cancelled"' in ran.raw.read_bytes()) is (home.cli == "opencode")
    assert not alive("sleep 2873")
    assert home.report().turns == 1


SHELL = {"opencode": "bash", "gemini": "run_shell_command"}
WRITE = {"opencode": ("write", "filePath"), "gemini": ("write_file", "file_path")}


@BOTH
def test_read_only_changes_nothing(cli: Cli, home: CliHome, seat: Seat) -> None:
    shell, write, name = SHELL[cli], *WRITE[cli]
    home.play(f"""
turns:
- text: I try a command.
  calls: [{{raw: {shell}, args: {{command: touch by-shell, description: Try}}}}]
- text: I try to write.
  calls: [{{raw: {write}, args: {{{name}: "${{workspace}}/by-tool", content: x}}}}]
- text: Only looking is possible here.
""")
    ran = run(seat, read_only=True)
    assert ran.turn.ended is Ended.FINISHED, (ran.turn.end_detail, ran.errors)
    assert ran.turn.final_text.endswith("Only looking is possible here.")
    assert sorted(path.name for path in home.workspace.iterdir()) == [".git", "README.md"]
    assert all(step.failed for step in steps_of(ran.turn))
    assert shell not in home.server.played(home.name)[-1].tools


@BOTH
def test_a_refused_key_ends_the_turn(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{error: 401, times: 99}]")
    ran = run(seat)
    assert ran.turn.ended is Ended.API_ERROR
    assert ran.turn.fault is not None
    assert "the key is not valid" in ran.turn.fault.message
    if home.cli == "gemini":
        # OpenCode leaves the status out, and the kind with it.
        assert (ran.turn.fault.kind, ran.turn.fault.status) == ("auth", 401)


@pytest.mark.parametrize("cli", ["gemini"])
def test_an_unknown_session_is_a_crash_with_its_reason(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: Never said.}]")
    ran = run(seat, session="00000000-0000-4000-8000-000000000000")
    assert ran.turn.ended is Ended.CRASHED
    assert ran.turn.end_detail == "session/load: other"
    assert ran.turn.fault is not None
    assert "No previous sessions" in ran.turn.fault.message
    assert home.report().turns == 0


def test_versions_are_known_without_a_start(server: RehearsalServer, tmp_path: Path) -> None:
    env = home_for("opencode", server, tmp_path).env
    found = opencode.find(env)
    assert found is not None
    assert found.version.count(".") == 2
    assert found.path.read_bytes()[:2] != b"#!"
