"""The Codex driver: its command lines, its native program, and the real Codex against a rehearsal server."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.agents.turning import Seat, once, seat_of
from tests.clis import CliHome, home_for

from touchline.agents.codex import driver
from touchline.agents.codex_program import native_program
from touchline.agents.port import Found, Request
from touchline.agents.turns import Stop
from touchline.errors import InputError, SettingsError
from touchline.rehearsal.server import RehearsalServer, serving
from touchline.supervision.facts import Call, Ended, Fault, Result

FOUND = Found(path=Path("/opt/codex"), version="0.166.0")
REQUEST = Request(prompt="Do it.", workspace=Path("/work"))


def argv(request: Request) -> str:
    return " ".join(driver.launch(request, FOUND, {"HOME": "/home/me"}).argv)


def test_the_prompt_goes_over_standard_input_which_is_then_closed() -> None:
    launch = driver.launch(REQUEST, FOUND, {"HOME": "/home/me"})
    assert launch.argv[-1] == "-"
    assert launch.talks
    assert launch.only_opens
    assert driver.converse(REQUEST).open() == b"Do it."


def test_the_sandbox_follows_the_confinement() -> None:
    assert "--sandbox workspace-write" in argv(REQUEST)
    assert "--sandbox read-only" in argv(replace(REQUEST, read_only=True))
    assert "--dangerously-bypass-approvals-and-sandbox" in argv(replace(REQUEST, confined=True))
    assert "--dangerously" not in argv(REQUEST)


def test_a_session_is_resumed_after_the_options() -> None:
    assert argv(replace(REQUEST, session="abc", model="gpt-5.5")).endswith("resume abc -")


def test_settings(tmp_path: Path) -> None:
    settings = {"config": {"model_reasoning_effort": '"high"'}, "disable": ["apps"], "env": {"A": "b"}}
    launch = driver.launch(replace(REQUEST, settings=settings, home=tmp_path), FOUND, {})
    line = " ".join(launch.argv)
    assert '--config model_reasoning_effort="high"' in line
    assert "--disable apps" in line
    assert launch.env == {"CODEX_HOME": str(tmp_path), "A": "b"}
    for wrong in ({"disable": "apps"}, {"config": {"a": 1}}, {"base_url": "x"}):
        with pytest.raises(SettingsError):
            driver.launch(replace(REQUEST, settings=wrong), FOUND, {})


def test_the_schema_is_written_to_the_turns_folder(tmp_path: Path) -> None:
    launch = driver.launch(replace(REQUEST, schema={"type": "object"}, scratch=tmp_path / "turn"), FOUND, {})
    path = tmp_path / "turn" / "answer-schema.json"
    assert f"--output-schema {path}" in " ".join(launch.argv)
    assert json.loads(path.read_text()) == {"type": "object"}
    assert path in launch.needs
    with pytest.raises(InputError):
        driver.launch(replace(REQUEST, schema={"type": "object"}), FOUND, {})


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the folders are named after the machine")
@pytest.mark.parametrize(
    "place",
    [
        "node_modules/@openai/codex-linux-{arch}/vendor/{machine}-{system}/bin/codex",
        "node_modules/@openai/codex/node_modules/@openai/codex-linux-{arch}/vendor/{machine}-{system}/bin/codex",
        "node_modules/@openai/codex/vendor/{machine}-{system}/codex/codex",
    ],
)
def test_the_native_program_is_found_behind_the_launcher(tmp_path: Path, place: str) -> None:
    import sys

    system = {"linux": "unknown-linux-musl", "darwin": "apple-darwin"}[sys.platform]
    native = tmp_path / place.format(arch="any", machine=platform.machine(), system=system)
    launcher = tmp_path / "node_modules/@openai/codex/bin/codex.js"
    for path in (native, launcher):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
    link = tmp_path / "codex"
    link.symlink_to(launcher)
    assert native_program(link) == native
    native.unlink()
    assert native_program(link) is None


def test_a_native_program_is_taken_as_it_is(tmp_path: Path) -> None:
    assert native_program(tmp_path / "codex") == tmp_path / "codex"


def test_a_launcher_without_its_program_is_warned_about(tmp_path: Path) -> None:
    launcher = tmp_path / "codex.js"
    launcher.write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    launcher.chmod(0o755)
    (tmp_path / "codex").symlink_to(launcher)
    found = driver.find({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert found is not None
    assert found.version == "0.166.0"
    assert "native program was not found" in found.warning


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for("codex", server, tmp_path)


@pytest.fixture
def seat(home: CliHome, tmp_path: Path) -> Seat:
    return seat_of(home, tmp_path)


@pytest.fixture
def own(server: RehearsalServer) -> Iterator[tuple[CliHome, Seat]]:
    """Codex with its own sandbox: its helper programs are not made below /tmp, and without them no command runs."""
    with TemporaryDirectory(dir="/var/tmp", prefix="touchline-codex-") as name:
        home = home_for("codex", server, Path(name))
        yield home, seat_of(home, Path(name))


def test_real_it_is_found_without_its_launcher(seat: Seat) -> None:
    found = driver.find(seat.env)
    assert found is not None
    assert found.version
    assert found.path.read_bytes()[:2] != b"#!"


def test_real_plain_completion(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: The answer is four.}]")
    ran = seat.run(prompt="What is two and two?")
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "The answer is four."
    assert seat.sessions == [ran.turn.session_id]
    assert "What is two and two?" in home.server.played(home.name)[0].heard
    assert (ran.turn.usage.input, ran.turn.usage.output, ran.turn.usage.cache_read) == (1000, 50, 200)


def test_real_write_and_command(home: CliHome, seat: Seat) -> None:
    home.play("""
turns:
- text: I write it.
  calls: [{write: hello.py, content: "print('hello')\\n"}]
- text: I run it.
  calls: [{shell: python3 hello.py}]
- text: "Done: it prints hello."
""")
    ran = seat.run()
    assert ran.turn.ended is Ended.FINISHED
    assert (home.workspace / "hello.py").read_text() == "print('hello')\n"
    assert [event.tool for event in ran.turn.events if isinstance(event, Call)] == ["file_change", "command_execution"]
    last = [event for event in ran.turn.events if isinstance(event, Result)][-1]
    assert (last.text, last.exit_code) == ("hello\n", 0)


@pytest.mark.timeout(60)
def test_real_a_stop_ends_it(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: I wait., calls: [{shell: 'echo begin; sleep 300'}]}, {text: Going on.}]")
    ran = seat.run(observe=once(Call, Stop(why="it waits")))
    assert ran.turn.ended is Ended.KILLED
    again = seat.run(prompt="Go on.", session=ran.turn.session_id, spent_before=ran.spent)
    assert again.turn.ended is Ended.FINISHED
    assert again.turn.final_text == "Going on."


def test_real_an_answer_is_held_to_a_schema(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{json: {verdict: good}}]")
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string"}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    ran = seat.run(schema=schema)
    assert ran.turn.ended is Ended.FINISHED
    assert json.loads(ran.turn.final_text) == {"verdict": "good"}


def test_real_read_only_is_read_only_and_a_refused_patch_is_told(own: tuple[CliHome, Seat]) -> None:
    home, seat = own
    home.play("""
turns:
- text: I write.
  calls: [{write: new.txt, content: x}]
- text: I try the shell.
  calls: [{shell: touch by-shell}]
- text: Nothing worked.
""")
    ran = seat.run(read_only=True, level="own")
    assert ran.turn.ended is Ended.FINISHED
    assert sorted(path.name for path in home.workspace.iterdir()) == [".git", "README.md"]
    told = [event for event in ran.turn.events if isinstance(event, Fault)]
    assert [fault.kind for fault in told] == ["permission"]
    assert "read-only sandbox" in told[0].message
    assert "Read-only file system" in home.server.played(home.name)[-1].saw


def test_real_its_own_sandbox_keeps_it_in_the_workspace(own: tuple[CliHome, Seat]) -> None:
    home, seat = own
    outside = Path.home() / f"touchline-outside-{seat.folder.name}"
    home.play(f"turns: [{{text: I try., calls: [{{shell: 'touch inside; touch {outside}'}}]}}, {{text: Done.}}]")
    ran = seat.run(level="own")
    assert ran.turn.ended is Ended.FINISHED
    assert not outside.exists()
    assert (home.workspace / "inside").exists()
    assert "Read-only file system" in home.server.played(home.name)[-1].saw


def test_real_overloaded_twice_then_fine(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{error: 529, times: 2}, {text: Fine.}]")
    ran = seat.run()
    assert ran.turn.ended is Ended.FINISHED
    assert home.report().failures == 2


@pytest.mark.parametrize(("status", "kind"), [(500, "server"), (401, "auth")])
def test_real_an_error_for_ever(home: CliHome, seat: Seat, status: int, kind: str) -> None:
    home.play(f"turns: [{{error: {status}, times: 99}}, {{text: Never.}}]")
    retries = {
        "model_providers.rehearsal.request_max_retries": "0",
        "model_providers.rehearsal.stream_max_retries": "1",
    }
    ran = seat.run(settings={"config": retries})
    assert ran.turn.ended is Ended.API_ERROR
    assert ran.turn.fault is not None
    assert ran.turn.fault.kind == kind


def test_real_an_unknown_session_is_a_crash_with_its_reason(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: Never.}]")
    ran = seat.run(session="00000000-0000-4000-8000-000000000000")
    assert ran.turn.ended is Ended.CRASHED
    assert ran.turn.fault is not None
    assert "no rollout found" in ran.turn.fault.message
