"""OpenCode through the durable session loop, by the Agent Client Protocol; the rehearsal server plays its model.

It takes seconds to start, so each session shows several things.
"""

from __future__ import annotations

import pytest
from tests.real.circles import SpokenTo
from tests.real.completions import Completions
from tests.real.contracts import Contracts
from tests.real.killed import Killed
from tests.real.slow_work import SlowWork

from touchline.rehearsal.pointing import Cli

CLI: Cli = "opencode"
pytestmark = pytest.mark.timeout(400)


class TestCompletions(Completions):
    pass


class TestWork(SlowWork):
    pass


class TestContracts(Contracts):
    tells_all_tokens = False


class TestCircles(SpokenTo):
    pass


class TestKilled(Killed):
    pass
