"""A project with hooks in it, the real CLI, and the scripted model it talks to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.clis import CliHome, home_for
from tests.hooks.agent import Agent

from touchline.hooks.install import apply, plan_install
from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import RehearsalServer, serving


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture
def with_hooks(server: RehearsalServer, tmp_path: Path) -> Callable[[Cli], CliHome]:
    """A CLI whose project has Touchline's hooks, installed as the command installs them."""

    def made(cli: Cli) -> CliHome:
        home = home_for(cli, server, tmp_path)
        apply(plan_install(cli, "project", folder=home.workspace, env=home.env))
        return home

    return made


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)
