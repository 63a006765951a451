"""A completion is delivered when the record bears it out, and sent back with its reasons when it does not."""

from __future__ import annotations

import subprocess

import pytest
from tests.sessions.house import House

pytestmark = pytest.mark.timeout(120)

HONEST = """
turns:
  - text: I add the function and its test.
    calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}
      - {shell: python3 -m unittest -q}
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""
HEDGED = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}
  - text: I have implemented add(). It should work now.
  - heard: "[System Coach]"
    text: I run the tests.
    calls:
      - {shell: python3 -m unittest -q}
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""
CONTRADICTED = """
turns:
  - calls:
      - write: "${workspace}/test_more.py"
        content: "import unittest\\nclass M(unittest.TestCase):\\n  def test_no(self): assert 1 == 2\\n"
      - {shell: python3 -m unittest -q}
  - text: The function is implemented and all tests pass.
  - heard: "[System Coach]"
    calls:
      - write: "${workspace}/test_more.py"
        content: "import unittest\\nclass M(unittest.TestCase):\\n  def test_yes(self): assert 2 == 2\\n"
      - {shell: python3 -m unittest -q}
  - text: "I mended the wrong expectation. All tests pass now: 2 tests, OK."
"""


def test_a_completion_with_evidence_is_delivered_once_with_its_commits(house: House) -> None:
    story = house.run(HONEST)
    session = story.session
    assert (session.status, session.reason, session.delivery) == ("delivered", "completed", "accepted"), story.told()
    assert story.actions == ["deliver:completed"]
    assert [status for _, status in story.parcels] == ["sent"]
    assert session.sandbox == "none"
    assert session.result["evidence"]["verified_after_last_edit"] is True
    assert session.result["changes"]["files"] == 1
    assert session.spent["tokens"] > 0
    assert session.spent["usd"] > 0
    ref = f"refs/touchline/{session.id}/head"
    shown = subprocess.run(["git", "show", f"{ref}:app.py"], cwd=house.repo, capture_output=True, text=True, check=True)
    assert "def add" in shown.stdout
    assert session.head_commit == session.result["changes"]["commit"]
    said = subprocess.run(["git", "log", "-1", "--format=%B", ref], cwd=house.repo, capture_output=True, text=True)
    assert said.stdout.strip() == "Write the sum function.\n\nWork that the agent left uncommitted."
    assert not (house.repo / "app.py").exists(), "the person's own files are not touched"


def test_everything_is_in_the_event_log_in_its_order(house: House) -> None:
    story = house.run(HONEST)
    types = [event.type for event in story.events]
    told = ["session.asked", "session.started", "turn.started", "agent.called", "agent.answered", "turn.ended"]
    at = [types.index(each) for each in (*told, "decision.made", "session.ended")]
    assert at == sorted(at)
    assert [each["tool"] for each in story.of("agent.called")] == ["Write", "Bash"]
    raw = house.folder / "sessions" / story.session.id / "turn-1.jsonl"
    assert raw.stat().st_mode & 0o077 == 0
    assert story.turns[0].raw_path == str(raw)


def test_a_hedged_completion_is_coached_and_then_delivered_with_evidence(house: House) -> None:
    story = house.run(HEDGED)
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    assert story.kinds == ["first", "continue"]
    (coached,) = story.of("coaching.sent")
    assert coached["text"].startswith("[System Coach]")
    assert coached["tier"] == "rejection"
    assert story.turns[1].prompt == coached["text"]
    assert story.decisions[0].tier == "rejection"
    assert story.turns[0].cli_session_id == story.turns[1].cli_session_id, "the same session goes on"
    assert len(story.parcels) == 1, "only the last stop is delivered"


def test_a_contradicted_claim_is_refused_and_the_message_names_the_call(house: House) -> None:
    story = house.run(CONTRADICTED)
    assert story.actions[0] == "continue:completion_rejected", story.told()
    message = story.decisions[0].message
    assert "tests pass" in message
    assert "call 1" in message
    assert "1 failed" in message
    assert story.session.delivery == "accepted"


NEVER_DONE = """
turns:
  - calls:
      - {shell: python3 -c "import unittest"}
  - text: "I fixed add() in app.py and created `docs/usage.md`. Verified."
  - heard: "no file was changed"
    text: "You are right, nothing is changed yet. I could not find add() anywhere. Which file is meant?"
"""


def test_work_that_was_never_done_is_not_accepted(house: House) -> None:
    story = house.run(NEVER_DONE, task="Fix add() in app.py")
    assert story.actions == ["continue:completion_rejected", "ask:question"], story.told()
    assert "docs/usage.md" in story.decisions[0].message


def test_who_may_only_read_is_not_blamed_for_changing_nothing(house: House) -> None:
    script = 'turns:\n  - {text: "I wrote the plan for the move: first the parser, then its tests."}\n'
    story = house.run(script, task="Write a plan for the move", read_only=True)
    assert "no file was changed" not in str(story.decisions[0].message), story.told()


def test_the_cap_ends_an_agent_that_only_announces(house: House) -> None:
    script = "turns:\n" + "".join(
        f"  - text: I have looked at file number {n}. Next I will look at the one after it.\n" for n in range(9)
    )
    story = house.run(script)
    assert story.actions == ["continue:status"] * 3 + ["deliver:cap_reached"], story.told()
    assert story.session.delivery == "unresolved"
    assert [turn.prompt for turn in story.turns[1:]] == ["continue"] * 3


def test_a_secret_of_the_environment_is_neither_in_the_log_nor_in_the_stream(house: House) -> None:
    secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    script = f"""
turns:
  - calls:
      - {{shell: "echo key={secret}"}}
      - {{shell: "printenv GITHUB_TOKEN || echo no such variable"}}
  - text: "The answer to the question is that the value begins with {secret}."
"""
    story = house.run(script, task="What does the variable hold?")
    raw = (house.folder / "sessions" / story.session.id / "turn-1.jsonl").read_text()
    assert secret not in raw
    assert secret not in repr(story)
    assert "no such variable" in story.of("agent.answered")[1]["text"]


def test_a_plan_and_a_phase_reach_the_second_continuation_too(house: House) -> None:
    script = """
turns:
  - calls:
      - {write: "${workspace}/PLAN.md", content: "# Plan\\n\\n## Success Criteria\\n\\n- sums are right\\n"}
  - text: I have written down a plan. Next I will build it.
  - text: I looked around in the sources. Next I will build it.
  - text: I am still reading. Next I will build it.
"""
    story = house.run(script, phase="build", plan="PLAN.md", turns=3)
    coached = [each["text"] for each in story.of("coaching.sent")]
    assert len(coached) == 2, story.told()
    assert all("sums are right" in text for text in coached)
    assert story.actions[-1] == "deliver:budget_exhausted"


def test_words_that_no_database_takes_are_kept_without_what_is_broken_in_them(house: House) -> None:
    script = 'turns:\n  - {text: "The answer is 42 \\0 \\ud800 and nothing else."}\n'
    story = house.run(script, task="What is the answer?")
    assert story.session.delivery == "accepted", story.told()
    assert "\0" not in story.turns[0].final_text
    assert "The answer is 42" in story.session.result["text"]


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m unittest >/dev/null 2>&1; echo 'Ran 1 test in 0.001s'; echo; echo OK",
        "python3 -m unittest 2>/dev/null; printf 'Ran 1 test in 0.001s\\\\n\\\\nOK\\\\n'",
    ],
)
def test_words_that_look_like_a_test_run_prove_nothing(house: House, line: str) -> None:
    script = f"""
turns:
  - calls:
      - {{write: "${{workspace}}/test_sample.py", content: "import unittest\\nraise SystemExit(1)\\n"}}
      - {{shell: "{line}"}}
  - text: "add() is implemented. The tests pass: 1 test, OK."
  - calls: [{{shell: "git checkout test_sample.py && python3 -m unittest -q"}}]
  - text: "add() is implemented. The tests pass: 1 test, OK."
"""
    story = house.run(script)
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
    assert story.decisions[0].evidence["last_test_run"]["outcome"] == "unverified"


def test_an_answer_that_tells_of_deeds_is_delivered(house: House) -> None:
    story = house.run(
        """
turns:
  - calls: [{shell: git log --oneline}]
  - text: Yesterday we fixed the pager and added OAuth.
""",
        task="What did we do yesterday?",
    )
    assert story.actions == ["deliver:completed"], story.told()
