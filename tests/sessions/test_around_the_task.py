"""What is added around a task reaches the agent: its skill, its limit of requests, the evidence of its phase."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.sessions.house import House

from touchline.cli.result import as_json, result_of
from touchline.errors import InputError
from touchline.sessions.asked import Asked
from touchline.sessions.records import session_record

pytestmark = pytest.mark.timeout(120)
ANSWER = "It adds two numbers, because add() returns a + b."


def test_a_skill_is_called_with_the_first_prompt(house: House) -> None:
    script = f'turns:\n  - {{heard: "/review What does app.py do?", text: "{ANSWER}"}}\n'
    story = house.run(script, task="What does app.py do?", skill="/review")
    assert story.session.delivery == "accepted", story.told()
    with pytest.raises(InputError, match="no name of a skill"):
        Asked(task="x", skill="two words")


def test_requests_within_a_turn_are_limited_where_the_agent_can(house: House) -> None:
    script = (
        "turns:\n" + '  - {text: I look., calls: [{shell: "echo look"}]}\n' * 6 + '  - {text: "The answer is 4."}\n'
    )
    story = house.run(script, task="What is two and two?", requests=3)
    assert (story.session.delivery, story.session.reason) == ("unresolved", "limit_reached"), story.told()
    assert len(story.of("agent.called")) == 3


def test_no_pull_request_is_asked_of_a_clone_without_a_remote(house: House) -> None:
    script = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}
      - {shell: python3 -m unittest -q}
      - {shell: git add -A && git commit -q -m "Add the sum" && git log --oneline -1}
  - text: "add() is implemented in app.py and committed. The tests pass: 1 test, OK."
"""
    story = house.run(script, phase="build")
    assert story.actions == ["deliver:completed"], story.told()


def test_an_agent_is_told_which_folders_are_empty_and_why(house: House) -> None:
    def git(*arguments: str, cwd: Path = house.repo) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
        subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)

    parts = house.repo.parent / "parts"
    parts.mkdir()
    git("init", "-q", cwd=parts)
    git("commit", "-q", "--allow-empty", "-m", "Start", cwd=parts)
    git("submodule", "--quiet", "add", str(parts), "vendor/parts")
    git("commit", "-q", "-m", "Take the parts in")
    script = (
        'turns:\n  - {heard: "vendor/parts is empty here", text: "It adds two numbers, because add() returns a + b."}\n'
    )
    story = house.run(script, task="What does app.py do?")
    assert story.session.delivery == "accepted", story.told()
    with house.database.reading() as connection:
        found = result_of(house.database, session_record(connection, story.session.id))
    assert as_json(found)["not_part_of_it"] == ["vendor/parts (submodule)"]
