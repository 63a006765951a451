"""A stop as a hook sees it: which one is sent back, on what evidence, and how often."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.hooks.agent import Agent

pytestmark = pytest.mark.timeout(60)
HEDGED = "I have implemented the parser. It should work now."


def test_an_unproved_completion_is_sent_back_and_a_proved_one_is_not(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    reason = agent.stop(HEDGED)
    assert reason is not None
    assert "parser.py" in reason
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None
    assert agent.log == ""


def test_a_program_that_edits_is_sent_back_and_not_taken_for_its_own_proof(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    agent.edited()
    fix = "python3 - <<'EOF'\nopen('parser.py', 'w').write('x = 1')\nEOF"
    agent.called("Bash", {"command": fix}, "")
    reason = agent.stop("Fixed the bug.")
    assert reason is not None
    assert "parser.py" in reason
    agent.called("Bash", {"command": "python3 -c 'import parser; print(parser.x)'"}, "1")
    assert agent.stop("Fixed the bug in the parser.") is None


def test_an_agent_that_touchline_runs_has_its_coach_already(agent: Agent) -> None:
    from touchline.processes.ending import TOKEN

    agent.prompted("Write the parser")
    agent.edited()
    said = {"session_id": "s-1", "transcript_path": str(agent.transcript), "cwd": str(agent.folder)}
    agent.said(HEDGED)
    stop = json.dumps({**said, "hook_event_name": "Stop", "last_assistant_message": HEDGED}).encode()
    assert agent.send(stop, **{TOKEN: "given by a run"}).stdout == b""
    assert b"block" in agent.send(stop).stdout


def test_a_claim_against_the_record_is_named(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "Exit code 1\n3 failed, 4 passed in 0.1s", failed=True)
    reason = agent.stop("All tests pass now.")
    assert reason is not None
    assert "3 failed" in reason


def test_only_what_the_transcript_grew_by_is_read(agent: Agent) -> None:
    """What was read is overwritten; the ledger still has it."""
    agent.prompted("Write the parser")
    agent.edited()
    assert agent.stop(HEDGED) is not None
    read = agent.transcript.stat().st_size
    agent.transcript.write_bytes(b" " * (read - 1) + b"\n")
    agent.called("Bash", {"command": "ls"}, "parser.py")
    reason = agent.stop("I have implemented the parser, as asked.")
    assert reason is not None
    assert "parser.py" in reason
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None


def test_nothing_is_read_twice(agent: Agent) -> None:
    agent.prompted("Write the parser")
    for _ in range(3):
        agent.edited()
        agent.stop(HEDGED)
    kept = json.loads(next(agent.state.rglob("evidence.json")).read_text())
    assert kept["ledger"]["calls"] == 3
    assert kept["offset"] == agent.transcript.stat().st_size


@pytest.mark.parametrize("left", [{"calls": 1, "writes": [{"path": "a.py", "call": 0}]}, "nothing", None])
def test_evidence_in_another_form_is_gathered_anew_from_the_transcript(agent: Agent, left: object) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    agent.stop("I read the file.")
    file = next(agent.state.rglob("evidence.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "ledger": left}))
    assert agent.stop("I implemented the parser; 7 tests pass.") is None
    assert json.loads(file.read_text())["ledger"]["calls"] == 2


def test_a_line_that_is_still_being_written_waits_for_the_next_stop(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    whole = agent.transcript.read_bytes()
    agent.transcript.write_bytes(whole[:-20])
    agent.stop("I read the file.")
    agent.transcript.write_bytes(whole)
    reason = agent.stop(HEDGED)
    assert reason is not None
    assert "Files were changed" in reason


def test_the_cap_counts_until_a_person_speaks_whatever_the_agents_own_guard_says(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    claims = ["It should work now.", "I fixed it.", "All tests pass.", "I pushed it.", "Done.", "Finished now."]
    told = [agent.stop(f"I have implemented the parser. {claim}") for claim in claims]
    assert [words is not None for words in told] == [True, True, True, False, False, False]
    agent.tell("UserPromptSubmit", prompt="<task-notification>a task ended</task-notification>", source="system")
    assert agent.stop(HEDGED) is None
    agent.tell("UserPromptSubmit", prompt="Go on, please", source="user")
    assert agent.stop(HEDGED) is not None


def test_a_report_is_not_continued_while_a_background_task_runs(agent: Agent) -> None:
    agent.prompted("Run the tests")
    agent.called("Bash", {"command": "make test", "run_in_background": True}, "Command running in background")
    agent.said("I'll now wait for the tests.")
    waiting = {"last_assistant_message": "I'll now wait for the tests.", "stop_hook_active": False}
    running = [{"id": "1", "type": "shell", "status": "running", "description": "make test"}]
    assert agent.tell("Stop", **waiting, background_tasks=running) is None
    agent.said("I'll now wait for the tests.")
    assert agent.tell("Stop", **waiting, background_tasks=[])["decision"] == "block"


TESTS = {"type": "shell", "status": "running", "command": "python3 -m pytest -q"}
SERVER = {"type": "shell", "status": "running", "command": "npm run dev"}


@pytest.mark.parametrize(
    ("words", "running", "passes"),
    [
        ("I fixed the parser and started the tests in the background.", [TESTS], True),
        ("I fixed the parser; a helper verifies it now.", [{"type": "subagent", "status": "running"}], True),
        ("I fixed the parser and started the tests in the background.", [{**TESTS, "status": "completed"}], False),
        ("I fixed the parser. It should work now.", [SERVER], False),
        ("I fixed the parser and pushed it.", [TESTS], False),
    ],
    ids=["its tests", "a helper", "ended", "a server from before", "the record denies it"],
)
def test_proof_that_is_under_way_is_waited_for(
    agent: Agent, words: str, running: list[dict[str, str]], passes: bool
) -> None:
    agent.prompted("Fix the parser")
    agent.called("Bash", {"command": SERVER["command"], "run_in_background": True}, "Command running in background")
    agent.edited()
    agent.called("Bash", {"command": "git push"}, "error: failed to push some refs", failed=True)
    agent.called("Bash", {"command": TESTS["command"], "run_in_background": True}, "Command running in background")
    agent.said(words)
    spoken = agent.tell("Stop", last_assistant_message=words, stop_hook_active=False, background_tasks=running)
    assert (spoken is None) is passes
    if running[0]["status"] == "completed":
        assert "how call 3, `python3 -m pytest -q`, ended is not known" in spoken["reason"]
        assert "failed" not in spoken["reason"]


DONE = "I fixed the parser, and all tests pass."


@pytest.mark.parametrize("code", [0, 1])
def test_the_end_of_a_command_is_told_at_a_later_stop_than_its_beginning(agent: Agent, code: int) -> None:
    """What was read of the transcript is overwritten: the pairing is kept with the evidence."""
    agent.prompted("Fix the parser")
    agent.edited()
    call = agent.began("python3 -m pytest -q")
    agent.said("I fixed the parser, and its tests run.")
    waiting = {"last_assistant_message": "I fixed the parser, and its tests run.", "background_tasks": [TESTS]}
    assert agent.tell("Stop", **waiting) is None
    agent.transcript.write_bytes(b" " * (agent.transcript.stat().st_size - 1) + b"\n")
    agent.notified(call, code)
    reason = agent.stop(DONE)
    if code:
        assert reason is not None
        assert "call 1 ran pytest: failed (exit code 1)" in reason
    else:
        assert reason is None
    assert agent.log == ""


def test_a_person_may_speak_between_a_command_and_its_end(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    agent.edited()
    call = agent.began("python3 -m pytest -q")
    agent.said("The tests run.")
    assert agent.tell("Stop", last_assistant_message="The tests run.", background_tasks=[TESTS]) is None
    agent.prompted("Fine. What is next?")
    agent.said("I wait for the tests.")
    assert agent.tell("Stop", last_assistant_message="I wait for the tests.", background_tasks=[TESTS]) is None
    agent.notified(call, 0)
    assert agent.stop(DONE) is None


def test_an_edit_after_its_beginning_takes_the_worth_from_a_command_in_the_background(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    agent.edited()
    call = agent.began("python3 -m pytest -q")
    agent.edited()
    agent.notified(call, 0)
    reason = agent.stop(DONE)
    assert reason is not None
    assert "Files were changed" in reason


@pytest.mark.parametrize(
    "forge",
    [
        lambda agent, call: agent.notified(call, 0, promptSource="typed"),
        lambda agent, call: agent.notified(call, 0, origin={"kind": "human"}),
        lambda agent, call: agent.called("Bash", {"command": "cat notes.txt"}, _notice(agent, call)),
        lambda agent, call: agent.said(_notice(agent, call)),
        lambda agent, call: agent.notified("call_99", 0),
    ],
    ids=["a person typed it", "a person's, said so", "a command printed it", "the agent wrote it", "of another call"],
)
def test_words_like_those_of_the_end_prove_nothing(agent: Agent, forge: Callable[[Agent, str], object]) -> None:
    agent.prompted("Fix the parser")
    agent.edited()
    call = agent.began("python3 -m pytest -q")
    forge(agent, call)
    reason = agent.stop(DONE)
    assert reason is not None
    assert "call 1, `python3 -m pytest -q`, ended is not known" in reason
    agent.notified(call, 0)
    assert agent.stop(DONE) is None, "the CLI's own record does"


def _notice(agent: Agent, call: str) -> str:
    """The words that Claude Code would write; its record of them is taken back."""
    before = agent.transcript.read_bytes()
    agent.notified(call, 0)
    words: str = json.loads(agent.transcript.read_bytes()[len(before) :])["message"]["content"][0]["text"]
    agent.transcript.write_bytes(before)
    return words


@pytest.mark.parametrize(
    "words",
    [
        "The parser is in src/parser.py; it splits at commas.",
        "Hello! How can I help you?",
        "Should I keep the old signature?",
        "Noted. I'll use tabs from now on.",
        "I could not find the file: it is not in the repository. Where is it?",
    ],
)
def test_conversation_is_left_alone(agent: Agent, words: str) -> None:
    agent.prompted("A word")
    assert agent.stop(words) is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("what did we do yesterday?", "Yesterday we fixed the pager and added OAuth."),
        ("Find out why CI is red", "CI is red because the linter was updated to 0.6, which added a new rule."),
        ("Summarize the changelog", "Version 2 added OAuth login, fixed the memory leak and removed Python 3.8."),
    ],
)
def test_an_answer_that_tells_of_deeds_is_left_alone(agent: Agent, asked: str, words: str) -> None:
    agent.prompted(asked)
    agent.called("Bash", {"command": "cat notes.md"}, "notes")
    assert agent.stop(words) is None


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ("I cannot verify this here, because pytest is not installed.", True),
        ("I wrote x.sh but did not run it, because it would delete your files.", True),
        ("I added the option. I have not run the tests yet.", True),
        ("I added the option and all tests pass, though I have not run the linter.", False),
        ("I added the option. It should work now.", False),
    ],
)
def test_who_says_plainly_that_it_is_unchecked_is_left_alone(agent: Agent, words: str, passes: bool) -> None:
    agent.prompted("Add the option")
    agent.edited()
    assert (agent.stop(words) is None) is passes


def test_the_third_time_the_same_completion_goes_to_the_person(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Write the parser")
    agent.prompted("Write the parser")
    agent.edited()
    said = {"last_assistant_message": HEDGED, "stop_hook_active": False, "background_tasks": []}
    agent.said(HEDGED)
    first = agent.tell("Stop", **said)["reason"]
    agent.said(HEDGED)
    second = agent.tell("Stop", **said)["reason"]
    assert first != second
    agent.said(HEDGED)
    assert "sent back twice" in agent.tell("Stop", **said)["systemMessage"]


def test_what_a_helper_proved_counts_for_who_called_it(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Write the parser")
    agent.prompted("Write the parser")
    agent.called("Task", {"prompt": "Write and test it"}, "Written, 7 tests pass.")
    main = agent.transcript
    agent.transcript = agent.folder / "helper.jsonl"
    agent.prompted("Write and test it")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    agent.said("Written, 7 tests pass.")
    helped = {"agent_id": "a1", "agent_transcript_path": str(agent.transcript), "transcript_path": str(main)}
    assert agent.tell("SubagentStop", last_assistant_message="Written, 7 tests pass.", **helped) is None
    agent.transcript = main
    assert agent.stop("The parser is written, and all 7 tests pass.") is None
    agent.edited()
    assert agent.stop("I changed the parser once more.") is not None, "the helper's proof is older than that"


def test_a_helper_has_a_count_and_a_transcript_of_its_own(agent: Agent) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    agent.said(HEDGED)
    fields = {
        "last_assistant_message": HEDGED,
        "stop_hook_active": False,
        "agent_transcript_path": str(agent.transcript),
    }
    assert agent.tell("SubagentStop", agent_id="a1", **fields)["decision"] == "block"
    counted = [path.parent.name for path in agent.state.rglob("state.json")]
    assert counted == ["a1"]


def test_the_phase_of_the_prompt_asks_for_its_evidence(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Please /do-build the parser")
    agent.prompted("Please /do-build the parser")
    agent.edited()
    agent.called("Bash", {"command": "python3 -m pytest -q"}, "7 passed in 0.1s")
    reason = agent.stop("I implemented the parser; 7 tests pass.")
    assert reason is not None
    assert "commit" in reason
    agent.tell("UserPromptSubmit", prompt="Leave it at that, thank you")
    assert agent.stop("I implemented the parser; 7 tests pass.") is None


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"not JSON\n" * 50, b"null\n", b'{"type":"user","message":5}\n'])
def test_a_transcript_that_says_nothing_usable_harms_nobody(agent: Agent, content: bytes) -> None:
    agent.transcript.write_bytes(content)
    assert agent.tell("Stop", last_assistant_message="All 7 tests pass.") is None
    assert "does not tell of its turn" in agent.log


@pytest.mark.parametrize("content", [b"", b"not JSON\n", b'{"type":"brand_new","all":"All 7 tests pass."}\n'])
def test_what_the_hooks_saw_counts_where_the_transcript_tells_nothing(agent: Agent, content: bytes) -> None:
    agent.transcript.write_bytes(content)
    path = str(agent.folder / "parser.py")
    agent.tell("PostToolUse", tool_name="Write", tool_input={"file_path": path, "content": "a"}, tool_response="ok")
    sent_back = agent.tell("Stop", last_assistant_message="I have implemented the parser.")
    assert "parser.py" in sent_back["reason"]
    ran = {"tool_name": "Bash", "tool_input": {"command": "python3 -m pytest -q"}}
    agent.tell("PostToolUse", **ran, tool_response={"stdout": "7 passed in 0.1s", "stderr": ""})
    assert agent.tell("Stop", last_assistant_message="I have implemented the parser. All 7 tests pass.") is None


def test_a_missing_transcript_is_noted_and_the_agent_goes_on(agent: Agent) -> None:
    agent.transcript.unlink()
    assert agent.tell("Stop", last_assistant_message=HEDGED) is None
    assert "let the agent go on" in agent.log
    assert "transcript.jsonl" in agent.log


@pytest.mark.parametrize("harm", ["damaged", "another's"])
@pytest.mark.parametrize("kept", ["hooks", "rules"])
def test_a_kept_file_that_cannot_be_trusted_is_made_anew(agent: Agent, kept: str, harm: str) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    assert agent.stop(HEDGED) is not None
    (store,) = (agent.home / ".cache" / "touchline").glob(f"{kept}-*.bin")
    whole = store.read_bytes()
    if harm == "damaged":
        store.write_bytes(whole[:40_000] + bytes(8_192) + whole[48_192:])
    else:
        store.chmod(0o666)
    harmed = store.stat().st_ino
    assert agent.stop("I have implemented the parser, as asked.") is not None
    assert agent.log == ""
    made = store.stat()
    assert made.st_ino != harmed
    assert made.st_mode & 0o777 == 0o600


def test_a_hook_loads_little_and_what_it_loads_is_kept(agent: Agent) -> None:
    """`os` alone would be a quarter of a bare start; of our own modules those that open the kept files are sought."""
    agent.prompted("Write the parser")
    agent.edited()
    assert agent.stop(HEDGED) is not None
    assert agent.stop(HEDGED) is not None
    agent.said(HEDGED)
    told = {
        "session_id": "s-2",
        "transcript_path": str(agent.transcript),
        "hook_event_name": "Stop",
        "last_assistant_message": HEDGED,
    }
    agent.python = ("-X", "importtime")
    done = agent.send(json.dumps(told).encode())
    assert b"block" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert {"touchline.kept_modules", "touchline.hooks.stopping"} <= loaded
    dear = {"os", "re", "json", "typing", "enum", "functools", "dataclasses", "datetime", "collections", "__future__"}
    assert not loaded & dear
    for kept in ("hooks", "rules"):
        (store,) = (agent.home / ".cache" / "touchline").glob(f"{kept}-*.bin")
        assert store.stat().st_mtime_ns < agent.transcript.stat().st_mtime_ns, "nothing was missed, so none is written"
