"""The Claude driver: its command lines, its conversation, and the real Claude Code against a rehearsal server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.turning import Seat, once, seat_of
from tests.clis import CliHome, home_for

from touchline.agents.claude import driver
from touchline.agents.claude_conversation import ClaudeConversation
from touchline.agents.port import Found, Request
from touchline.agents.turns import Say, Stop
from touchline.errors import SettingsError
from touchline.rehearsal.server import RehearsalServer, serving
from touchline.supervision.facts import Call, Ended, Fault, Prompt, Result, Text

FOUND = Found(path=Path("/opt/claude"), version="2.1.325")
REQUEST = Request(prompt="Do it.", workspace=Path("/work"))


def argv(request: Request) -> str:
    return " ".join(driver.launch(request, FOUND, {"HOME": "/home/me"}).argv)


def test_the_prompt_goes_over_standard_input() -> None:
    assert "Do it." not in argv(REQUEST)
    message = json.loads(driver.converse(REQUEST).open())
    assert message["message"]["content"][0]["text"] == "Do it."


def test_a_new_session_has_our_id_and_an_old_one_is_resumed() -> None:
    assert "--session-id abc" in argv(replace(REQUEST, new_session="abc"))
    assert "--resume abc" in argv(replace(REQUEST, session="abc", new_session="other"))
    assert "other" not in argv(replace(REQUEST, session="abc", new_session="other"))


def test_permissions_follow_the_confinement() -> None:
    assert "--dangerously-skip-permissions" in argv(replace(REQUEST, confined=True))
    assert "--dangerously-skip-permissions" not in argv(REQUEST)
    assert '"failIfUnavailable": true' in argv(REQUEST)
    reading = argv(replace(REQUEST, read_only=True))
    assert "--tools Read,Glob,Grep" in reading
    assert "skip-permissions" not in reading
    assert "--disallowedTools Write,Edit" in argv(replace(REQUEST, read_only=True, confined=True))


def test_the_other_options() -> None:
    request = replace(
        REQUEST,
        model="opus",
        max_requests=7,
        schema={"type": "object"},
        folders=(Path("/a"), Path("/b")),
        plugins=(Path("/p"),),
        flags=("--effort", "high"),
        home=Path("/home/of/claude"),
        settings={"max_retries": 2, "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}},
    )
    launch = driver.launch(request, FOUND, {})
    line = " ".join(launch.argv)
    for part in (
        "--model opus",
        "--max-turns 7",
        '--json-schema {"type": "object"}',
        "--add-dir /a --add-dir /b",
        "--plugin-dir /p",
        "--effort high",
    ):
        assert part in line
    assert launch.env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert launch.env["CLAUDE_CONFIG_DIR"] == "/home/of/claude"
    assert launch.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert launch.env["DISABLE_AUTOUPDATER"] == "1"
    assert launch.keeps == (Path("/home/of/claude"),)


def test_of_its_usual_home_only_the_sessions_are_kept() -> None:
    for env, folder in (({"HOME": "/home/me"}, "/home/me/.claude"), ({"CLAUDE_CONFIG_DIR": "/c"}, "/c")):
        launch = driver.launch(REQUEST, FOUND, env)
        assert Path(folder) in launch.needs
        assert Path(folder) / "projects" in launch.keeps
        assert Path(folder) not in launch.keeps, "settings and hooks are not the agent's to write"


def test_a_login_that_is_renewed_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    login = tmp_path / ".claude" / ".credentials.json"
    login.write_text("{}")
    assert login in driver.launch(REQUEST, FOUND, {"HOME": str(tmp_path)}).keeps


@pytest.mark.parametrize("settings", [{"max_retries": "two"}, {"max_retries": True}, {"env": {"A": 1}}, {"env": "A=1"}])
def test_settings_of_the_wrong_kind_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        driver.launch(replace(REQUEST, settings=settings), FOUND, {})


def tell(**record: object) -> bytes:
    return json.dumps(record).encode()


def test_what_is_left_of_the_money_is_the_clis_limit() -> None:
    argv = driver.launch(replace(REQUEST, max_usd=0.4567), FOUND, {}).argv
    assert argv[argv.index("--max-budget-usd") + 1] == "0.456700"
    assert "--max-budget-usd" not in driver.launch(REQUEST, FOUND, {}).argv


def test_a_message_that_was_not_taken_up_keeps_the_turn_open() -> None:
    conversation = ClaudeConversation(REQUEST)
    first = json.loads(conversation.open())
    conversation.hear(tell(type="user", isReplay=True, uuid=first["uuid"], message={"content": "Do it."}))
    said = conversation.say("Look here.")
    assert said is not None
    heard = conversation.hear(tell(type="result", is_error=False, result="done"))
    assert heard.close
    assert not conversation.over
    assert conversation.say("Too late.") is None
    conversation.hear(
        tell(type="user", isReplay=True, uuid=json.loads(said)["uuid"], message={"content": "Look here."})
    )
    conversation.hear(tell(type="result", is_error=False, result="done again"))
    assert conversation.over


def test_a_failed_result_is_the_end_whatever_waits() -> None:
    conversation = ClaudeConversation(REQUEST)
    conversation.open()
    conversation.hear(tell(type="result", subtype="error_max_turns", is_error=True))
    assert conversation.over
    assert conversation.finish(exit_code=1).ended is Ended.LIMIT


def test_an_older_version_that_acknowledges_without_our_ids() -> None:
    conversation = ClaudeConversation(REQUEST)
    conversation.open()
    conversation.hear(tell(type="user", isReplay=True, uuid="its-own", message={"content": "Do it."}))
    assert not conversation.hear(tell(type="result", is_error=False, result="done")).close
    assert conversation.over


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture
def home(server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for("claude", server, tmp_path)


@pytest.fixture
def seat(home: CliHome, tmp_path: Path) -> Seat:
    return seat_of(home, tmp_path)


def words_sent(home: CliHome) -> str:
    return "\n".join(f"{each.heard}\n{each.saw}" for each in home.server.played(home.name))


def test_real_it_is_found(seat: Seat) -> None:
    found = driver.find(seat.env)
    assert found is not None
    assert found.version.startswith("2.")
    assert driver.find({"PATH": str(seat.folder)}) is None


def test_real_plain_completion(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: The answer is four.}]")
    ran = seat.run(prompt="What is two and two?")
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "The answer is four."
    assert ran.turn.prompt == "What is two and two?"
    assert ran.turn.session_id == seat.sessions[0]
    assert (ran.turn.usage.input, ran.turn.usage.output, ran.turn.usage.cache_read) == (1000, 50, 200)
    assert ran.turn.cost_usd
    assert "What is two and two?" in words_sent(home)
    assert home.report().used_up


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
    calls = [event.tool for event in ran.turn.events if isinstance(event, Call)]
    assert calls == ["Write", "Bash"]
    assert [event.text for event in ran.turn.events if isinstance(event, Result)][-1] == "hello"
    assert ran.turn.usage.input == 3000


def test_real_a_message_in_mid_turn_reaches_the_model_in_the_same_turn(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: I begin., calls: [{shell: 'sleep 0.7; echo slow'}]}, {text: Understood.}]")
    ran = seat.run(observe=once(Call, Say(text="COACH: look at the log")))
    assert ran.turn.ended is Ended.FINISHED
    assert ran.said == ("COACH: look at the log",)
    assert "COACH: look at the log" in words_sent(home)
    assert [event.text for event in ran.turn.events if isinstance(event, Prompt)][-1] == "COACH: look at the log"
    assert len(home.server.played(home.name)) == 2


def test_real_a_message_after_the_last_words_gets_its_answer(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: I am done.}, {text: 'I looked again, and now I am.'}]")
    ran = seat.run(observe=once(Text, Say(text="COACH: prove it")))
    assert ran.turn.ended is Ended.FINISHED
    assert ran.turn.final_text == "I looked again, and now I am."
    assert ran.turn.usage.input == 2000
    assert "COACH: prove it" in words_sent(home)


@pytest.mark.timeout(60)
def test_real_interrupt_ends_the_turn_and_the_session_goes_on(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: I wait., calls: [{shell: 'echo begin; sleep 300'}]}, {text: Going on.}]")
    ran = seat.run(observe=once(Call, Stop(why="it waits")))
    assert ran.turn.ended is Ended.KILLED
    assert ran.stopped == "it waits"
    assert ran.turn.usage.output == 50, "its result was waited for"
    again = seat.run(prompt="Go on.", session=ran.turn.session_id)
    assert again.turn.ended is Ended.FINISHED
    assert again.turn.final_text == "Going on."
    assert again.turn.session_id == ran.turn.session_id


def test_real_max_turns(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: Again., calls: [{shell: ls}], times: 9}, {text: Never.}]")
    ran = seat.run(max_requests=2)
    assert ran.turn.ended is Ended.LIMIT
    assert ran.turn.end_detail == "max_turns"
    assert len(home.server.played(home.name)) == 2


def test_real_an_answer_is_held_to_a_schema(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{json: {verdict: good}}]")
    schema = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
    ran = seat.run(schema=schema)
    assert ran.turn.ended is Ended.FINISHED
    assert json.loads(ran.turn.final_text) == {"verdict": "good"}


def test_real_read_only_is_read_only(home: CliHome, seat: Seat) -> None:
    home.play("""
turns:
- text: I try everything.
  calls:
  - {raw: Write, args: {file_path: "${workspace}/new.txt", content: x}}
  - {raw: Edit, args: {file_path: "${workspace}/README.md", old_string: A project, new_string: Mine}}
  - {raw: Bash, args: {command: touch by-shell}}
  - {raw: Task, args: {description: x, prompt: "touch by-task", subagent_type: general-purpose}}
  - {raw: Read, args: {file_path: "${workspace}/README.md"}}
- text: Only reading worked.
""")
    before = (home.workspace / "README.md").read_text()
    ran = seat.run(read_only=True, level="own")
    assert ran.turn.ended is Ended.FINISHED
    results = [event for event in ran.turn.events if isinstance(event, Result)]
    assert [result.failed for result in results] == [True, True, True, True, False]
    assert sorted(path.name for path in home.workspace.iterdir()) == [".git", "README.md"]
    assert (home.workspace / "README.md").read_text() == before


def test_real_a_hook_of_the_workspace_does_not_run_when_only_claude_confines_itself(home: CliHome, seat: Seat) -> None:
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]}}
    (home.workspace / ".claude").mkdir()
    (home.workspace / ".claude" / "settings.json").write_text(json.dumps(hook))
    home.play("turns: [{text: Done.}]")
    assert seat.run(read_only=True, level="own").turn.ended is Ended.FINISHED
    assert not (home.workspace / "hooked").exists()


def test_real_overloaded_twice_then_fine(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{error: 529, times: 2}, {text: Fine.}]")
    ran = seat.run()
    assert ran.turn.ended is Ended.FINISHED
    assert [event.status for event in ran.turn.events if isinstance(event, Fault)] == [529, 529]


@pytest.mark.parametrize(("status", "kind"), [(500, "server"), (401, "auth")])
def test_real_an_error_for_ever(home: CliHome, seat: Seat, status: int, kind: str) -> None:
    home.play(f"turns: [{{error: {status}, times: 99}}, {{text: Never.}}]")
    ran = seat.run(settings={"max_retries": 1})
    assert ran.turn.ended is Ended.API_ERROR
    assert ran.turn.fault is not None
    assert (ran.turn.fault.kind, ran.turn.fault.status) == (kind, status)
    assert ran.turn.exit_code == 1


def test_real_an_unknown_session_is_a_crash_with_its_reason(home: CliHome, seat: Seat) -> None:
    home.play("turns: [{text: Never.}]")
    ran = seat.run(session="00000000-0000-4000-8000-000000000000")
    assert ran.turn.ended is Ended.CRASHED
    assert "No conversation found" in ran.turn.end_detail
