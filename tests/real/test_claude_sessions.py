"""Claude Code through the durable session loop; the rehearsal server plays its model."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.real.circles import SpokenTo
from tests.real.completions import FAILING, MoreCompletions
from tests.real.contracts import MoreContracts
from tests.real.faults import Faults
from tests.real.killed import Killed
from tests.real.stage import Stage

from touchline.rehearsal.pointing import Cli

CLI: Cli = "claude"
pytestmark = pytest.mark.timeout(240)


class TestCompletions(MoreCompletions):
    pass


class TestContracts(MoreContracts):
    pass


class TestCircles(SpokenTo):
    pass


class TestFaults(Faults):
    once: ClassVar = {"max_retries": 0}

    def test_the_clis_own_limit_of_turns_is_no_completion(self, stage: Stage) -> None:
        script = "turns:\n" + "".join(f"  - calls: [{{shell: echo {n}}}]\n" for n in range(9))
        story = stage.run(script, flags=("--max-turns", "2"))
        assert story.actions == ["deliver:limit_reached"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "unresolved")
        assert story.turns[0].ended == "limit"

    def test_what_is_left_of_the_money_is_its_limit_in_a_resumed_session_too(self, stage: Stage) -> None:
        """It tells the sum over the session, and counts its limit by process."""
        calls = "".join(f"  - calls: [{{shell: echo {n}}}]\n" for n in range(30))
        script = "turns:\n  - text: I looked at one part. Next I will look at another.\n" + calls
        # Unpriced, so that only its own limit stops it.
        story = stage.run(script, task="Look at it.", usd=0.0125, model="claude-unpriced-1")
        assert story.actions == ["continue:status", "deliver:budget_exhausted"], story.told()
        assert story.turns[1].ended == "limit"
        assert len(stage.played) < 12, "long before the script's end"


class TestBackground:
    script = """
turns:
  - calls: [{{write: test_more.py, content: "{test}"}}]
  - calls: [{{raw: Bash, args: {{command: "python3 -m unittest -q", run_in_background: true}}}}]
  - calls: [{{shell: sleep 3}}]
  - text: The function is implemented and all tests pass.
  - heard: "[System Coach]"
    text: I cannot make them pass. Shall I leave it at that?
    else: {{text: Nobody coached me.}}
"""

    def test_tests_that_ended_well_in_the_background_are_proof(self, stage: Stage) -> None:
        story = stage.run(self.script.format(test=FAILING.replace("1, 2", "2, 2")))
        assert story.actions == ["deliver:completed"], story.told()
        run = story.session.result["evidence"]["last_test_run"]
        assert (run["call"], run["outcome"]) == (1, "passed")

    def test_tests_that_failed_in_the_background_contradict(self, stage: Stage) -> None:
        story = stage.run(self.script.format(test=FAILING))
        assert story.actions[0] == "continue:completion_rejected", story.told()
        assert "the record shows otherwise: call 1 ran unittest: failed (exit code 1)" in story.decisions[0].message


class TestKilled(Killed):
    pass
