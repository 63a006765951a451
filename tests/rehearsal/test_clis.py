"""The real CLIs against the rehearsal server: what they make of a script is what the script says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.agents.turning import once, seat_of
from tests.clis import CliHome, Ran, home_for

from touchline.agents.turns import Say
from touchline.rehearsal.pointing import CLIS, Cli
from touchline.rehearsal.server import RehearsalServer
from touchline.supervision.facts import Call

FAST: tuple[Cli, ...] = ("claude", "codex")
WORK = """
turns:
  - text: I write it.
    calls: [{write: hello.py, content: "print('hi')\\n"}]
  - calls: [{shell: python3 hello.py > out.txt}]
  - text: Done, and this sentence is long enough to be cut in its middle by a broken line.
"""


@pytest.fixture(params=FAST)
def home(request: pytest.FixtureRequest, server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for(request.param, server, tmp_path)


def last_words(home: CliHome, ran: Ran) -> str:
    match home.cli:
        case "claude":
            return str(ran.lines[-1]["result"])
        case "codex":
            items = [line["item"] for line in ran.all("item.completed")]
            return str([item["text"] for item in items if item["type"] == "agent_message"][-1])
        case "opencode":
            return str(ran.all("text")[-1]["part"]["text"])
        case "gemini":
            words = ""
            for line in ran.lines:
                if line["type"] == "tool_result":
                    words = ""
                elif line["type"] == "message" and line["role"] == "assistant":
                    words += line["content"]
            return words


def session_of(home: CliHome, ran: Ran) -> str:
    first: dict[str, Any] = ran.lines[0]
    return str(first[{"codex": "thread_id", "opencode": "sessionID"}.get(home.cli, "session_id")])


def tokens(home: CliHome, ran: Ran) -> tuple[int, int, int]:
    """New, cached and put out, over the whole run."""
    match home.cli:
        case "claude":
            usage = ran.lines[-1]["usage"]
            return usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]
        case "codex":
            usage = ran.lines[-1]["usage"]
            cached = usage["cached_input_tokens"]
            return usage["input_tokens"] - cached, cached, usage["output_tokens"]
        case "opencode":
            steps = [line["part"]["tokens"] for line in ran.all("step_finish")]
            return (
                sum(step["input"] for step in steps),
                sum(step["cache"]["read"] for step in steps),
                sum(step["output"] for step in steps),
            )
        case "gemini":
            stats = ran.lines[-1]["stats"]
            return stats["input"], stats["cached"], stats["output_tokens"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cli", CLIS)
def test_a_file_is_written_a_command_run_and_the_session_resumed(
    server: RehearsalServer, tmp_path: Path, cli: Cli
) -> None:
    home = home_for(cli, server, tmp_path)
    home.play(WORK + "  - {heard: 'Now say MARK-7', text: 'You said MARK-7.'}\n")
    ran = home.run("Create hello.py and run it.")
    assert ran.code == 0, ran.errors
    assert (home.workspace / "out.txt").read_text() == "hi\n"
    assert last_words(home, ran).startswith("Done, and this")
    assert tokens(home, ran) == (3000, 600, 150)
    assert home.report().left == {"main": 1}
    again = home.run("Now say MARK-7.", resume=session_of(home, ran))
    assert again.code == 0, again.errors
    assert last_words(home, again) == "You said MARK-7."
    report = home.report()
    assert report.used_up
    assert (report.turns, report.failures) == (4, 0)
    assert not (tmp_path / "home" / ".npm").exists(), "nothing was fetched from a package registry"


def test_errors_and_cut_connections_are_survived(home: CliHome) -> None:
    done = "{text: 'Words that are long enough for the stream to break in the middle of them.', drop: true}"
    home.play(f"turns: [{{error: 529}}, {{text: Look., calls: [{{shell: echo one}}]}}, {done}, {{text: Fine.}}]")
    ran = home.run("Go.")
    assert ran.code == 0, ran.errors
    assert last_words(home, ran) == "Fine."
    report = home.report()
    assert report.used_up
    assert (report.turns, report.failures) == (2, 2)


def test_an_error_that_stays_fails_the_run(home: CliHome) -> None:
    home.play("turns: [{error: 401, times: always}]")
    ran = home.run("Go.")
    assert ran.code == 1
    assert home.report().turns == 0


def test_a_run_killed_in_a_command_goes_on_where_it_stood(home: CliHome) -> None:
    home.play(
        """
        turns:
          - calls: [{shell: echo one >> log.txt}]
          - calls: [{shell: 'echo begin; echo $$ > pid.txt; sleep 300'}]
          - {heard: go on, text: I go on., calls: [{shell: echo two >> log.txt}]}
          - text: Done.
        """
    )
    with subprocess.Popen(
        home.command("Go."),
        cwd=home.workspace,
        env=home.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        first = Ran(code=0, lines=[json.loads(process.stdout.readline())], errors="")
        pid = home.workspace / "pid.txt"
        while not (pid.exists() and pid.read_text().strip()):
            assert process.poll() is None
            time.sleep(0.01)
        if home.cli in ("claude", "codex"):
            home.wait_for_record("sleep 300")
        os.killpg(process.pid, signal.SIGKILL)
        os.kill(int(pid.read_text()), signal.SIGKILL)
    ran = home.run("Please go on.", resume=session_of(home, first))
    assert ran.code == 0, ran.errors
    assert last_words(home, ran) == "Done."
    assert (home.workspace / "log.txt").read_text() == "one\ntwo\n"
    assert home.report().used_up


def test_structured_answers(home: CliHome, tmp_path: Path) -> None:
    schema = '{"type":"object","properties":{"verdict":{"type":"string"}},"required":["verdict"],'
    schema += '"additionalProperties":false}'
    (tmp_path / "schema.json").write_text(schema)
    home.play("turns: [{calls: [{shell: echo one}]}, {json: {verdict: good}}]")
    flags = {"claude": ("--json-schema", schema), "codex": ("--output-schema", str(tmp_path / "schema.json"))}
    ran = home.run("Judge.", *flags[home.cli])
    assert ran.code == 0, ran.errors
    if home.cli == "claude":
        assert ran.lines[-1]["structured_output"] == {"verdict": "good"}
    else:
        assert last_words(home, ran) == '{"verdict": "good"}'
    assert home.report().used_up


def test_codex_models_that_answer_with_programs(server: RehearsalServer, tmp_path: Path) -> None:
    home = home_for("codex", server, tmp_path)
    home.play(WORK)
    ran = home.run("Create hello.py and run it.", "-m", "gpt-6-astra")
    assert ran.code == 0, ran.errors
    assert (home.workspace / "out.txt").read_text() == "hi\n"
    assert home.report().used_up


def test_a_script_that_runs_out_is_reported(home: CliHome) -> None:
    home.play("turns: [{calls: [{shell: echo one}]}]")
    ran = home.run("Go.")
    assert ran.code == 0
    assert last_words(home, ran).startswith("The rehearsal script has no more turns: script.yaml")
    assert home.report().ran_out
    assert not home.report().used_up


def test_a_message_in_mid_turn_is_heard(server: RehearsalServer, tmp_path: Path) -> None:
    home = home_for("claude", server, tmp_path)
    home.play(
        """
        turns:
          - calls: [{shell: 'echo begin; sleep 1'}]
          - {heard: another way, text: 'I take it.', else: {text: I heard nothing.}}
        """
    )
    ran = seat_of(home, tmp_path).run(observe=once(Call, Say(text="Try another way.")))
    assert (ran.turn.final_text, ran.said) == ("I take it.", ("Try another way.",))
    assert home.report().used_up


def test_two_conversations_side_by_side(home: CliHome) -> None:
    home.play(
        """
        conversations:
          - {name: blue, when: paint it blue, turns: [{calls: [{shell: echo blue > blue.txt}]}, {text: Blue.}]}
          - {name: red, when: paint it red, turns: [{calls: [{shell: echo red > red.txt}]}, {text: Red.}]}
        """
    )
    with subprocess.Popen(
        home.command("Please paint it blue."),
        cwd=home.workspace,
        env=home.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as other:
        assert last_words(home, home.run("Please paint it red.")) == "Red."
        assert other.wait(60) == 0
    assert (home.workspace / "blue.txt").exists()
    assert home.report().used_up
