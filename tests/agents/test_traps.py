"""Every known trap of the agent CLIs, with the real programs where it takes them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.turning import Seat, alive, once, seat_of
from tests.clis import ROOT, CliHome, cli_path, home_for

from touchline.agents.codex import Codex
from touchline.agents.codex import driver as codex
from touchline.agents.port import Found, Launch, Request
from touchline.agents.sandbox import probe
from touchline.agents.turns import Stop, TurnLimits
from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import RehearsalServer, serving
from touchline.supervision.facts import Call, Ended, Event, Unread

BOTH: tuple[Cli, ...] = ("claude", "codex")
LONG = """
turns:
- {{text: I wait., calls: [{{shell: "echo begin; sleep 300 || echo {mark}"}}]}}
- {{text: Stopped.}}
- {{text: Going on.}}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=BOTH)
def home(request: pytest.FixtureRequest, server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for(request.param, server, tmp_path)


@pytest.fixture
def claude_home(server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for("claude", server, tmp_path)


@pytest.fixture
def codex_home(server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for("codex", server, tmp_path)


def agent_pid(workspace: Path, program: Path) -> int:
    """The agent's own process: its program, working in the workspace."""
    wanted = program.resolve()
    found = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _links(entry) == (wanted, workspace.resolve())
    ]
    assert len(found) == 1, found
    return found[0]


def _links(entry: Path) -> tuple[Path, Path] | None:
    try:
        return (entry / "exe").readlink(), (entry / "cwd").readlink()
    except OSError:
        return None


class LeavesItOpen(Codex):
    """Codex with standard input left open: the trap, not the driver."""

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        return replace(super().launch(request, found, env), only_opens=False)


@pytest.mark.timeout(60)
def test_1_open_standard_input_hangs_codex_so_ours_is_closed(codex_home: CliHome, tmp_path: Path) -> None:
    seat = seat_of(codex_home, tmp_path)
    codex_home.play("turns: [{text: Done.}]")
    seat.driver = LeavesItOpen()
    hung = seat.run(limits=TurnLimits(seconds=1.5, grace_seconds=0.05))
    assert codex_home.server.played(codex_home.name) == ()
    assert hung.turn.ended is Ended.TIMED_OUT
    seat.driver = codex
    assert seat.run().turn.ended is Ended.FINISHED


@pytest.mark.timeout(60)
def test_2_the_whole_tree_is_ended_with_the_agent(home: CliHome, tmp_path: Path) -> None:
    mark = f"tree-{home.cli}-{os.getpid()}"
    home.play(LONG.format(mark=mark))
    seat = seat_of(home, tmp_path)
    running: list[list[int]] = []

    def observe(event: Event) -> Stop | None:
        if not isinstance(event, Call):
            return None
        _wait_for_the_tool(mark)
        running.append(alive(mark))
        os.kill(agent_pid(home.workspace, _program(home)), signal.SIGKILL)
        return None

    ran = seat.run(observe=observe)
    assert running
    assert alive(mark) == []
    assert ran.turn.ended is Ended.KILLED
    assert ran.turn.exit_code == -9


def _wait_for_the_tool(mark: str) -> None:
    """A call is told before its process is there."""
    while not alive("sleep 300 || echo " + mark):
        time.sleep(0.02)


def _program(home: CliHome) -> Path:
    found = seat_of(home, home.workspace.parent).driver.find(home.env)
    assert found is not None
    return found.path


RUNNER = """
import json, sys
from pathlib import Path
from tests.agents.turning import Seat
from touchline.agents.registry import driver_named
told = json.loads(sys.argv[1])
seat = Seat(folder=Path(told["folder"]), driver=driver_named(told["cli"]), env=told["env"],
            workspace=Path(told["workspace"]))
seat.run()
"""


@pytest.mark.timeout(60)
def test_2_the_whole_tree_dies_with_touchline(home: CliHome, tmp_path: Path) -> None:
    mark = f"orphan-{home.cli}-{os.getpid()}"
    home.play(LONG.format(mark=mark))
    told = {"cli": home.cli, "folder": str(tmp_path), "env": home.env, "workspace": str(home.workspace)}
    with subprocess.Popen([sys.executable, "-c", RUNNER, json.dumps(told)], cwd=ROOT) as runner:
        _wait_for_the_tool(mark)
        runner.kill()
    while alive(mark) or alive(str(home.workspace)):
        time.sleep(0.05)


@pytest.mark.timeout(60)
def test_2_the_pid_is_the_agent_and_not_a_launcher(codex_home: CliHome) -> None:
    assert cli_path("codex").resolve().suffix == ".js"
    assert _program(codex_home).resolve().suffix == ""


@pytest.mark.timeout(60)
def test_3_exit_code_0_after_sigint_is_no_success(claude_home: CliHome, tmp_path: Path) -> None:
    mark = f"sigint-{os.getpid()}"
    claude_home.play(LONG.format(mark=mark))
    seat = seat_of(claude_home, tmp_path)

    def observe(event: Event) -> None:
        if isinstance(event, Call):
            _wait_for_the_tool(mark)
            os.kill(agent_pid(claude_home.workspace, _program(claude_home)), signal.SIGINT)

    ran = seat.run(observe=observe)
    assert ran.turn.exit_code == 0
    assert ran.turn.ended in (Ended.INTERRUPTED, Ended.CRASHED), ran.turn.end_detail
    assert alive(mark) == []


def test_3_denied_tools_with_exit_code_0_are_told(claude_home: CliHome, tmp_path: Path) -> None:
    claude_home.play(
        "turns: [{text: I try., calls: [{raw: Bash, args: {command: touch x}}]}, {text: It did not work.}]"
    )
    ran = seat_of(claude_home, tmp_path).run(read_only=True, level="own")
    assert ran.turn.exit_code == 0
    assert not (claude_home.workspace / "x").exists()
    assert [event.failed for event in ran.turn.events if hasattr(event, "failed")] == [True]


@pytest.mark.timeout(60)
def test_4_a_model_that_stalls_is_ended_by_our_own_clock(home: CliHome, tmp_path: Path) -> None:
    home.play("turns: [{text: This takes very long to say., stall: 100}]")
    ran = seat_of(home, tmp_path).run(limits=TurnLimits(seconds=2, grace_seconds=1))
    assert ran.turn.ended is Ended.TIMED_OUT
    assert alive(str(home.workspace)) == []


def test_5_usage_and_cost_are_each_turns_own(home: CliHome, tmp_path: Path) -> None:
    home.play("turns: [{text: One.}, {text: Two.}, {text: Three.}]")
    seat = seat_of(home, tmp_path)
    first = seat.run()
    again = seat.run(prompt="Go on.", session=first.turn.session_id, spent_before=first.spent)
    third = seat.run(prompt="Once more.", session=first.turn.session_id, spent_before=again.spent)
    assert [ran.turn.ended for ran in (first, again, third)] == [Ended.FINISHED] * 3
    assert [ran.turn.usage for ran in (first, again, third)] == [first.turn.usage] * 3
    assert first.turn.usage.total == 1250
    assert [ran.turn.cost_usd for ran in (first, again, third)] == [first.turn.cost_usd] * 3


def test_5_codex_only_tells_the_threads_sum(codex_home: CliHome, tmp_path: Path) -> None:
    codex_home.play("turns: [{text: One.}, {text: Two.}]")
    seat = seat_of(codex_home, tmp_path)
    first = seat.run()
    again = seat.run(prompt="Go on.", session=first.turn.session_id)
    assert again.turn.usage.total == 2 * first.turn.usage.total, "nobody said what was spent before"


def test_6_the_id_of_a_new_session_is_known_before_the_first_line(claude_home: CliHome, tmp_path: Path) -> None:
    claude_home.play("turns: [{text: Done.}]")
    seat = seat_of(claude_home, tmp_path)
    ran = seat.run()
    assert seat.sessions == [ran.turn.session_id]
    seat.run(new_session=ran.turn.session_id)
    assert "already in use" in seat.run(new_session=ran.turn.session_id).errors


def test_6_a_session_that_was_killed_is_resumed_in_its_folder(home: CliHome, tmp_path: Path) -> None:
    home.play(LONG.format(mark="killed"))
    seat = seat_of(home, tmp_path)

    def observe(event: Event) -> None:
        if isinstance(event, Call):
            home.wait_for_record("sleep 300")
            os.kill(agent_pid(home.workspace, _program(home)), signal.SIGKILL)

    killed = seat.run(observe=observe)
    assert killed.turn.ended is Ended.KILLED
    assert killed.turn.session_id
    again = seat.run(prompt="Go on.", session=killed.turn.session_id, spent_before=killed.spent)
    assert again.turn.ended is Ended.FINISHED
    assert again.turn.session_id == killed.turn.session_id
    assert "Go on." in home.server.played(home.name)[-1].heard


def test_7_inherited_variables_do_not_lead_the_agent_astray(tmp_path: Path) -> None:
    leaking = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_SESSION_ID": "another",
        "OPENAI_API_KEY": "sk-other-provider-key",
        "OPENAI_BASE_URL": "http://127.0.0.1:9",
        "GITHUB_TOKEN": "ghp_not_for_agents",
        "NODE_OPTIONS": "--require /tmp/x.js",
        "LD_PRELOAD": "/tmp/x.so",
    }
    seat = Seat(folder=tmp_path, env={"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "key-of-the-driver", **leaking})
    ran = seat.run(seat.program("begin(); speak(json.dumps(dict(os.environ))); result()"))
    seen = json.loads(ran.turn.final_text)
    assert set(leaking) & set(seen) == set()
    assert seen["ANTHROPIC_API_KEY"] == "key-of-the-driver"
    assert seen["DISABLE_AUTOUPDATER"] == "1"


def test_7_unknown_records_and_keys_are_kept_and_harmless(tmp_path: Path) -> None:
    seat = Seat(folder=tmp_path)
    body = "begin(); tell(type='from_the_future', x=1); speak('done'); result(unheard_of={'a': [1]}, modelUsage=3)"
    ran = seat.run(seat.program(body))
    assert ran.turn.ended is Ended.FINISHED
    assert [event.why for event in ran.turn.events if isinstance(event, Unread)] == ["unknown"]


@pytest.fixture(scope="module")
def bubblewrap() -> None:
    probed = probe({"PATH": os.environ["PATH"]})
    if not probed.bubblewrap:
        pytest.skip(f"bubblewrap cannot be used here: {probed.why_not}")


def test_a_confined_agent_works_and_is_resumed(home: CliHome, tmp_path: Path, bubblewrap: None) -> None:
    home.play("""
turns:
- text: I write and look around.
  calls:
  - {write: new.txt, content: inside}
  - {shell: "cat new.txt; ls /proc | grep -c '^[0-9]'; ls /root /home"}
- text: One.
- text: Two.
""")
    seat = seat_of(home, tmp_path)
    first = seat.run(level="bubblewrap")
    assert first.turn.ended is Ended.FINISHED, (first.turn.end_detail, first.errors)
    assert (home.workspace / "new.txt").read_text().strip() == "inside"
    again = seat.run(prompt="Go on.", session=first.turn.session_id, spent_before=first.spent, level="bubblewrap")
    assert again.turn.ended is Ended.FINISHED
    assert again.turn.final_text == "Two."


def test_a_confined_agent_that_only_reads(home: CliHome, tmp_path: Path, bubblewrap: None) -> None:
    home.play("turns: [{text: I try., calls: [{shell: touch by-shell}]}, {text: It did not work.}]")
    ran = seat_of(home, tmp_path).run(level="bubblewrap", read_only=True)
    assert ran.turn.ended is Ended.FINISHED, (ran.turn.end_detail, ran.errors)
    assert not (home.workspace / "by-shell").exists()
    assert "Read-only file system" in home.server.played(home.name)[-1].saw


@pytest.mark.timeout(60)
def test_a_confined_agents_tool_ends_with_it(home: CliHome, tmp_path: Path, bubblewrap: None) -> None:
    mark = f"confined-{home.cli}-{os.getpid()}"
    home.play(LONG.format(mark=mark))
    ran = seat_of(home, tmp_path).run(level="bubblewrap", observe=once(Call, Stop(why="enough")))
    assert ran.stopped == "enough"
    assert ran.turn.ended is Ended.KILLED
    assert alive(mark) == []


def test_a_stop_leaves_nothing_of_the_tool(home: CliHome, tmp_path: Path) -> None:
    mark = f"stop-{home.cli}-{os.getpid()}"
    home.play(LONG.format(mark=mark))
    ran = seat_of(home, tmp_path).run(observe=once(Call, Stop(why="enough")))
    assert ran.stopped == "enough"
    assert alive(mark) == []
