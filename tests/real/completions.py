"""What a session makes of an agent that says it is done. Shared by the CLIs' test files."""

from __future__ import annotations

import subprocess

from tests.real.stage import Stage, cost_of, tokens

CODE = "def add(a, b):\\n    return a + b\\n"
ANSWER = "turns: [{text: The answer is 42.}]"
WORK = f"""
turns:
  - text: I add the function.
    calls: [{{write: app.py, content: "{CODE}"}}]
  - calls: [{{shell: python3 -m unittest -q}}]
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""
HEDGED = f"""
turns:
  - calls: [{{write: app.py, content: "{CODE}"}}]
  - text: I have implemented add(). It should work now.
  - heard: "[System Coach]"
    text: I run the tests.
    calls: [{{shell: python3 -m unittest -q}}]
    else: {{text: Nobody coached me.}}
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""
FAILING = "import unittest\\nclass M(unittest.TestCase):\\n  def test_no(self): self.assertEqual(1, 2)\\n"
CONTRADICTED = f"""
turns:
  - calls: [{{write: test_more.py, content: "{FAILING}"}}]
  - calls: [{{shell: python3 -m unittest -q}}]
  - text: The function is implemented and all tests pass.
  - heard: "[System Coach]"
    calls: [{{shell: "sed -i 's/1, 2/2, 2 /' test_more.py"}}]
    else: {{text: Nobody coached me.}}
  - calls: [{{shell: python3 -m unittest -q}}]
  - text: "I mended the wrong expectation. All tests pass now: 2 tests, OK."
"""
CHECKED = f"""
turns:
  - calls: [{{write: app.py, content: "{CODE}"}}]
  - calls: [{{shell: python3 -c "import app"}}]
  - text: "add() is implemented in app.py, and it can be imported."
  - heard: "test -e ok"
    calls: [{{write: ok, content: "yes\\n"}}]
    else: {{text: Nobody told me of the check.}}
  - calls: [{{shell: cat ok}}]
  - text: "Now it is done: add() is implemented in app.py, and ok is written."
"""


class Completions:
    """For every CLI."""

    def test_a_question_is_answered(self, stage: Stage) -> None:
        story = stage.run(ANSWER, task="What is the answer?")
        assert story.actions == ["deliver:completed"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "accepted")
        assert story.session.result["text"] == "The answer is 42."
        assert len(stage.played) == 1
        assert tokens(story) == cost_of(1, cached_apart=stage.cli != "gemini")

    def test_a_hedged_completion_is_coached_and_delivered_with_evidence(self, stage: Stage) -> None:
        story = stage.run(HEDGED)
        assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
        assert story.kinds == ["first", "continue"]
        (coached,) = story.of("coaching.sent")
        assert len(stage.heard(coached["text"])) == 1, "the coach's words reached the model, once"
        assert stage.heard(coached["text"])[0].number == 2, "in the session that was coached"
        assert story.turns[0].cli_session_id == story.turns[1].cli_session_id
        evidence = story.session.result["evidence"]
        assert evidence["verified_after_last_edit"] is True
        assert (evidence["last_test_run"]["outcome"], evidence["last_test_run"]["passed"]) == ("passed", 1)
        assert [status for _, status in story.parcels] == ["sent"]


class MoreCompletions(Completions):
    """For the CLIs that start quickly."""

    def test_work_is_delivered_with_its_evidence_and_its_commits(self, stage: Stage) -> None:
        story = stage.run(WORK, turns=1)  # the last turn that is allowed may well be the one that finishes
        assert story.actions == ["deliver:completed"], story.told()
        result = story.session.result
        assert result["delivery"] == "accepted"
        assert [name.rpartition("/")[2] for name in result["evidence"]["files"]] == ["app.py"]
        assert result["evidence"]["verified_after_last_edit"] is True
        assert result["evidence"]["last_test_run"]["passed"] == 1
        assert [each["path"] for each in result["changes"]["changed"]] == ["app.py"]
        show = ["git", "show", f"refs/touchline/{story.session.id}/head:app.py"]
        assert "def add" in subprocess.run(show, cwd=stage.repo, capture_output=True, text=True, check=True).stdout
        assert not (stage.repo / "app.py").exists(), "the person's own files are not touched"
        assert len(story.of("agent.called")) == len(story.of("agent.answered")) == 2
        assert tokens(story) == cost_of(3)

    def test_a_contradicted_claim_is_refused_and_the_message_names_the_call(self, stage: Stage) -> None:
        story = stage.run(CONTRADICTED)
        assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
        message = story.decisions[0].message
        assert "tests pass" in message
        assert "call 1" in message
        assert "1 failed" in message
        assert len(stage.heard(message)) == 1

    def test_the_declared_check_is_run_by_touchline_itself(self, stage: Stage) -> None:
        story = stage.run(CHECKED, check="test -e ok && python3 -m unittest -q")
        assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()
        assert [each["verified"] for each in story.of("check.run")] == [False, True]
        assert len(stage.heard("exit code 1")) == 1
        check = story.session.result["evidence"]["check"]
        assert (check["verified"], check["exit_code"], check["passed"]) == (True, 0, 1)
