"""Touchline runs the declared check itself; only a check that ran, passed and tested something is a pass."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

pytestmark = pytest.mark.timeout(120)

SAYS_SO = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}
      - {shell: python3 -c "import app"}
  - text: "add() is implemented in app.py and the program runs."
  - heard: "[System Coach]"
    calls:
      - {write: "${workspace}/ok", content: "yes"}
      - {shell: cat ok}
  - text: "Now it is done: add() is implemented in app.py, and ok is written."
"""


def test_a_passing_check_is_proof_of_touchlines_own(house: House) -> None:
    story = house.run(SAYS_SO, check="python3 -m unittest -q")
    assert story.actions == ["deliver:completed"], story.told()
    check = story.session.result["evidence"]["check"]
    assert (check["verified"], check["exit_code"], check["passed"]) == (True, 0, 1)
    (run,) = story.of("check.run")
    assert run["verified"] is True
    assert run["collected"] == 1
    assert story.session.result["evidence"]["verified_after_last_edit"] is True


def test_a_failing_check_refuses_the_completion_and_coaching_names_it(house: House) -> None:
    story = house.run(SAYS_SO, check="test -e ok && python3 -m unittest -q")
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    message = story.decisions[0].message
    assert "test -e ok" in message
    assert "exit code 1" in message
    assert "Touchline runs itself" in message
    assert [each["verified"] for each in story.of("check.run")] == [False, True]


def test_the_agent_is_told_what_the_check_printed(house: House) -> None:
    story = house.run(SAYS_SO, check="test -e ok || { echo 'the file ok is not there'; exit 1; }")
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    assert story.turns[1].prompt.endswith("printed when Touchline ran it:\nthe file ok is not there")
    (coached,) = story.of("coaching.sent")
    assert coached["text"] == story.turns[1].prompt


@pytest.mark.parametrize(
    ("check", "seconds", "words"),
    [
        ("sleep 30", 1.0, "without a result"),
        ("python3 -m unittest -q no_such_tests_here || python3 -m unittest discover -q -s .git", 60.0, "no test"),
        ("no-such-command --at-all", 60.0, "could not be run"),
    ],
    ids=["timed out", "no tests", "no command"],
)
def test_a_check_that_proves_nothing_is_no_pass(house: House, check: str, seconds: float, words: str) -> None:
    story = house.run(SAYS_SO, check=check, check_seconds=seconds, turns=1)
    assert story.session.delivery == "unresolved", story.told()
    (run,) = story.of("check.run")
    assert run["verified"] is False
    assert words in run["why"]


def test_no_check_runs_while_the_agent_claims_nothing(house: House) -> None:
    script = "turns:\n  - text: I have looked at the sources. Next I will write the function.\n"
    story = house.run(script, check="python3 -m unittest -q", turns=1)
    assert story.of("check.run") == [], story.told()


def test_a_check_is_not_run_outside_any_sandbox_unless_somebody_says_so(house: House) -> None:
    script = "turns:\n  - text: The answer is 4.\n"
    story = house.run(script, agent="fenced", sandbox="own", check="python3 -m unittest -q")
    assert story.session.delivery == "error"
    assert "The check would run unconfined" in story.session.detail
    assert not story.turns
    assert house.run(script, "What is two and two?", agent="fenced", sandbox="own").turns
