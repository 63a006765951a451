"""The numbers that are set are those that the hook's own process keeps to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.hooks.agent import Agent

pytestmark = pytest.mark.timeout(60)
CLAIMS = ("It should work now.", "I fixed it.", "All tests pass.", "I pushed it.")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / ".git").mkdir()
    return Agent(tmp_path)


def call(agent: Agent, times: int, **fields: str) -> list[bool]:
    """The same call with the same result: whether a word was said after each."""
    said = {"tool_name": "Bash", "tool_input": {"command": "ls src"}, "tool_response": {"stdout": "a.py", "stderr": ""}}
    return [agent.tell("PostToolUse", **said, **fields) is not None for _ in range(times)]


@pytest.mark.parametrize(
    ("text", "sent_back"),
    [
        ("[hooks]\ncap = 1\n", [True, False, False, False]),
        ("[limits]\ncontinue_cap = 1\n", [True, False, False, False]),
        ("[limits]\ncontinue_cap = 1\n[hooks]\ncap = 2\n", [True, True, False, False]),
        ("[hooks\n", [True, True, True, False]),
    ],
    ids=["one", "by its general name", "both", "broken"],
)
def test_a_stop_is_sent_back_as_often_as_is_set(agent: Agent, text: str, sent_back: list[bool]) -> None:
    (agent.folder / "touchline.toml").write_text(text)
    agent.prompted("Write the parser")
    agent.edited()
    told = [agent.stop(f"I have implemented the parser. {claim}") for claim in CLAIMS]
    assert [words is not None for words in told] == sent_back
    assert agent.log == ""


def test_a_repeated_call_is_reminded_of_and_refused_when_it_is_set(agent: Agent) -> None:
    assert call(agent, 3) == [False, False, True]
    (agent.folder / "touchline.toml").write_text("[limits]\nsame_result = 5\nnothing_new = [[30, 30]]\n")
    assert call(agent, 6, session_id="s-2") == [False, False, False, False, True, False]
    before = {"tool_name": "Bash", "tool_input": {"command": "ls src"}, "session_id": "s-2"}
    answer = agent.tell("PreToolUse", **before)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_long_wait_is_reminded_of_when_it_is_set_and_never_refused(agent: Agent) -> None:
    (agent.folder / "touchline.toml").write_text("[limits]\nsame_wait = 5\n")
    waiting = {"tool_name": "Bash", "tool_input": {"command": "sleep 30; gh pr checks 12"}}
    answer = {"tool_response": {"stdout": "pending", "stderr": ""}}
    told = [agent.tell("PostToolUse", **waiting, **answer) for _ in range(7)]
    assert [words is not None for words in told] == [False] * 4 + [True, False, False]
    assert agent.tell("PreToolUse", **waiting) is None


def test_a_helper_keeps_to_it_too(agent: Agent) -> None:
    (agent.folder / "touchline.toml").write_text("[limits]\nsame_result = 5\nnothing_new = [[30, 30]]\n")
    assert call(agent, 4, agent_id="a-1") == [False] * 4


def test_a_change_counts_from_the_next_prompt_on(agent: Agent) -> None:
    agent.tell("UserPromptSubmit", prompt="Look around")
    (agent.folder / "touchline.toml").write_text("[limits]\nsame_result = 4\n")
    assert call(agent, 3) == [False, False, True]
    agent.tell("UserPromptSubmit", prompt="Look again")
    assert call(agent, 3) == [False, False, False]
    state = json.loads((agent.state / "hooks" / "claude-s-1" / "state.json").read_text())
    assert state["limits"] == {"same_result": 4}
