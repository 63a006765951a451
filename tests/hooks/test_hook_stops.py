"""A stop as a hook sees it: which one is sent back, on what evidence, and how often."""

from __future__ import annotations

import json

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
def test_a_store_of_rules_that_cannot_be_trusted_is_made_anew(agent: Agent, harm: str) -> None:
    agent.prompted("Write the parser")
    agent.edited()
    assert agent.stop(HEDGED) is not None
    (store,) = (agent.home / ".cache" / "touchline").iterdir()
    whole = store.read_bytes()
    if harm == "damaged":
        store.write_bytes(whole[:100_000] + bytes(8_192) + whole[108_192:])
    else:
        store.chmod(0o666)
    harmed = store.stat().st_ino
    assert agent.stop("I have implemented the parser, as asked.") is not None
    assert agent.log == ""
    made = store.stat()
    assert made.st_ino != harmed
    assert made.st_mode & 0o777 == 0o600
