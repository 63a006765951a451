"""Codex through the durable session loop; the rehearsal server plays its model."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.real.circles import ToldNext
from tests.real.completions import MoreCompletions
from tests.real.contracts import MoreContracts
from tests.real.faults import Faults
from tests.real.killed import Killed

from touchline.rehearsal.pointing import Cli

CLI: Cli = "codex"
pytestmark = pytest.mark.timeout(240)
PROVIDER = "model_providers.rehearsal"


class TestCompletions(MoreCompletions):
    pass


class TestContracts(MoreContracts):
    pass


class TestCircles(ToldNext):
    pass


class TestFaults(Faults):
    once: ClassVar = {"config": {f"{PROVIDER}.request_max_retries": "0", f"{PROVIDER}.stream_max_retries": "0"}}


class TestKilled(Killed):
    pass
