"""Claude Code through the durable session loop; the rehearsal server plays its model."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.real.circles import SpokenTo
from tests.real.completions import MoreCompletions
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


class TestKilled(Killed):
    pass
