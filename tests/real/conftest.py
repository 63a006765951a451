"""One stage for all tests of a file; the file's `CLI` says whose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.clis import cli_path

from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import RehearsalServer, serving

for _shared in ("completions", "contracts", "circles", "faults", "killed", "slow_work"):
    pytest.register_assert_rewrite(f"tests.real.{_shared}")

from tests.real.stage import Stage, staged  # noqa: E402


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def cli(request: pytest.FixtureRequest) -> Cli:
    """The file's CLI; its tests are skipped when it is not installed."""
    name: Cli = request.module.CLI
    cli_path(name)
    return name


@pytest.fixture(scope="module")
def stage(cli: Cli, server: RehearsalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp(cli), cli, server.url(cli), server) as made:
        yield made
