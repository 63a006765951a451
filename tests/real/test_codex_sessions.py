"""Codex through the durable session loop; the rehearsal server plays its model."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.real.circles import ToldNext
from tests.real.completions import MoreCompletions
from tests.real.contracts import MoreContracts
from tests.real.faults import Faults
from tests.real.killed import Killed
from tests.real.stage import Stage

from touchline.rehearsal.pointing import MODELS, Cli

CLI: Cli = "codex"
pytestmark = pytest.mark.timeout(240)
PROVIDER = "model_providers.rehearsal"


class TestCompletions(MoreCompletions):
    pass


class TestContracts(MoreContracts):
    def test_its_turns_are_priced_by_the_configured_model(self, stage: Stage) -> None:
        story = stage.run("turns: [{text: The answer is 42.}]", task="What is the answer?", usd=1.0)
        assert story.actions == ["deliver:completed"], story.told()
        (model,) = story.turns[0].usage
        assert model == MODELS["codex"]
        assert (story.turns[0].cost_usd or 0.0) > 0
        assert story.session.spent["estimated"] is True


class TestCircles(ToldNext):
    pass


class TestFaults(Faults):
    once: ClassVar = {"config": {f"{PROVIDER}.request_max_retries": "0", f"{PROVIDER}.stream_max_retries": "0"}}


class TestKilled(Killed):
    pass
