"""A CLI is pointed at the rehearsal by what a supervisor hands on to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.agents.environment import environment_for
from touchline.rehearsal.pointing import CLIS, KEY, Cli, point


@pytest.mark.parametrize("cli", CLIS)
def test_the_variables_reach_a_supervised_cli(cli: Cli, tmp_path: Path) -> None:
    pointing = point(cli, "http://127.0.0.1:1/s/run", tmp_path)
    passed = environment_for(pointing.env, driver=cli)
    needed = {name for name, value in pointing.env.items() if value == KEY or "127.0.0.1" in value}
    assert needed <= passed.keys()
    for text in pointing.files.values():
        assert all(word.split('"')[1] in passed for word in text.splitlines() if word.startswith("env_key"))
