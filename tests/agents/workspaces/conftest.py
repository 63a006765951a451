"""A user's machine for each test, and both ways in which an agent may be confined."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.confined import needs_bubblewrap
from tests.agents.workspaces.repositories import House, house_in

from touchline.agents.port import Level


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = house_in(tmp_path)
    made.commit(README_md="hello\n", src__app_py="print('hi')\n", src__lib_py="A = 1\n")
    return made


@pytest.fixture(params=["none", "bubblewrap"])
def level(request: pytest.FixtureRequest) -> Level:
    wanted: Level = request.param
    if wanted == "bubblewrap":
        needs_bubblewrap()
    return wanted
