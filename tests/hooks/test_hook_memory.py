"""What earlier prompts of a session proved, or left unproved, still counts at a later stop; what they saw goes."""

from __future__ import annotations

import json

import pytest
from tests.hooks.agent import Agent

from touchline.hooks.evidence_kept import LOOKS_KEPT

pytestmark = pytest.mark.timeout(60)
MANY = LOOKS_KEPT + 5
DONE = "It is fixed, and all tests pass."


def ran(agent: Agent, command: str, result: str = "12 passed in 0.31s") -> None:
    agent.called("Bash", {"command": command}, result)


def edited(agent: Agent, path: str) -> None:
    args = {"file_path": str(agent.folder / path), "old_string": "a", "new_string": "b"}
    agent.called("Edit", args, "The file has been updated.")


def looked_around(agent: Agent) -> None:
    agent.prompted("Look around for similar code")
    for number in range(MANY):
        ran(agent, f"grep -rn name_{number} src", "src/x.py:1: name")
    assert agent.stop("I looked around. Similar code is in src/x.py.") is None


def test_a_test_run_from_before_much_looking_still_proves(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    agent.edited()
    ran(agent, "python3 -m pytest -q")
    ran(agent, "ruff check .", "All checks passed!")
    assert agent.stop(DONE) is None
    looked_around(agent)
    looked_around(agent)
    (kept,) = agent.state.rglob("evidence.json")
    told = json.loads(kept.read_text())["ledger"]["commands"]["text"]
    assert told[:2] == ["python3 -m pytest -q", "ruff check ."]
    assert len(told) == 2 + LOOKS_KEPT + MANY, "of the older looks the latest, of the last prompt all"
    agent.prompted("Finish it")
    edited(agent, "README.md")
    assert agent.stop(f"{DONE} Lint is clean.") is None


def test_an_edit_after_the_tests_is_not_forgotten_for_many_documents(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    ran(agent, "python3 -m pytest -q")
    agent.edited()
    assert agent.stop("I changed the parser. I have not run the tests since.") is None
    agent.prompted("Write a document for each module")
    for number in range(MANY):
        edited(agent, f"docs/m{number}.md")
    assert agent.stop("The documents are written; I have not checked anything else.") is None
    agent.prompted("Finish it")
    edited(agent, "README.md")
    assert "pytest" in (agent.stop(DONE) or "")


def test_a_file_of_its_own_may_go_after_many_edits(agent: Agent) -> None:
    agent.prompted("Add a probe")
    probe = str(agent.folder / "tests/test_probe.py")
    agent.called("Write", {"file_path": probe, "content": "def test(): pass"}, f"File created successfully at: {probe}")
    ran(agent, "python3 -m pytest -q")
    assert agent.stop(DONE) is None
    agent.prompted("Rename x everywhere")
    for number in range(MANY):
        edited(agent, f"src/m{number}.py")
    ran(agent, "python3 -m pytest -q")
    assert agent.stop(DONE) is None
    agent.prompted("Remove the probe")
    ran(agent, "rm tests/test_probe.py", "")
    ran(agent, "python3 -m pytest -q")
    assert agent.stop(DONE) is None


def test_a_count_that_fell_is_seen_over_many_runs_of_parts(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    ran(agent, "python3 -m pytest -q", "40 passed in 0.31s")
    assert agent.stop("I ran the tests: 40 passed.") is None
    agent.prompted("Mend module by module")
    for number in range(MANY):
        edited(agent, f"src/m{number}.py")
        ran(agent, f"python3 -m pytest -q tests/test_m{number}.py", "3 passed in 0.31s")
    agent.stop("I mended each module, and the tests of each pass.")
    agent.tell("UserPromptSubmit", prompt="And all?")
    agent.prompted("And all?")
    edited(agent, "src/z.py")
    ran(agent, "python3 -m pytest -q", "30 passed in 0.31s")
    assert "40" in (agent.stop(DONE) or "")


def test_what_was_seen_of_ci_is_no_mere_look(agent: Agent) -> None:
    agent.prompted("Fix the parser")
    ran(agent, "gh run watch", "all jobs succeeded")
    assert agent.stop("I looked at CI.") is None
    looked_around(agent)
    looked_around(agent)
    (kept,) = agent.state.rglob("evidence.json")
    assert "gh run watch" in kept.read_text()


def test_what_a_script_told_of_a_push_is_remembered(agent: Agent) -> None:
    agent.prompted("Fix the parser and release it")
    agent.edited()
    ran(agent, "python3 -m pytest -q")
    ran(agent, "./release.sh", "Pushed main to origin")
    assert agent.stop(DONE) is None
    agent.prompted("And is it pushed?")
    assert agent.stop("I fixed it and pushed it to main.") is None


def test_without_such_words_a_push_is_asked_for(agent: Agent) -> None:
    agent.prompted("Fix the parser and release it")
    agent.edited()
    ran(agent, "python3 -m pytest -q")
    ran(agent, "./release.sh", "Built 3 files")
    assert agent.stop("I fixed it and pushed it to main.") is not None
