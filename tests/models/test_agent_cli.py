"""An agent CLI as the model: the real ones, held to the answer's schema, against a rehearsal server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clis import CliHome, home_for

from touchline.errors import ModelError
from touchline.models.opening import asker_for
from touchline.models.questions import ReviewBudget
from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import RehearsalServer, serving

pytestmark = pytest.mark.timeout(120)

ANSWER = "{verdict: needs_changes, guidance: Stop fetching and read the code.}"
CLIS: tuple[Cli, ...] = ("claude",)


@pytest.fixture(scope="module")
def server() -> Iterator[RehearsalServer]:
    with serving() as running:
        yield running


@pytest.fixture(params=CLIS)
def home(request: pytest.FixtureRequest, server: RehearsalServer, tmp_path: Path) -> CliHome:
    return home_for(request.param, server, tmp_path)


def test_a_cli_answers_in_the_shape_that_was_asked_for(home: CliHome, tmp_path: Path) -> None:
    home.play(f"turns:\n  - json: {ANSWER}\n")
    answer = asker_for(f"cli:{home.cli}", env=home.env, records=tmp_path / "records").ask(
        ReviewBudget(request="Task T-1: git fetch fails again and again.")
    )
    assert (answer.value.verdict, answer.value.guidance) == ("needs_changes", "Stop fetching and read the code.")
    assert answer.usage.output > 0
    assert answer.model
    if home.cli == "claude":
        assert answer.cost_usd is not None
    assert not list((tmp_path / "records").glob("*")), "no process is left behind"


def test_a_cli_whose_provider_refuses_is_a_model_error(home: CliHome, tmp_path: Path) -> None:
    home.play("turns:\n  - error: 401\n    times: always\n  - text: never\n")
    asker = asker_for(f"cli:{home.cli}", env=home.env, records=tmp_path / "records")
    with pytest.raises(ModelError, match=f"cli:{home.cli} gave no answer") as caught:
        asker.ask(ReviewBudget(request="r"))
    assert "logged in" in caught.value.hint


def test_a_cli_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    asker = asker_for("cli:claude", env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    with pytest.raises(ModelError, match="claude is not installed") as caught:
        asker.ask(ReviewBudget(request="r"))
    assert caught.value.hint


def test_an_agent_that_cannot_be_started_is_a_model_error(tmp_path: Path) -> None:
    asker = asker_for("cli:scripted", env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    with pytest.raises(ModelError, match="cli:scripted cannot be asked") as caught:
        asker.ask(ReviewBudget(request="r"))
    assert caught.value.hint


@pytest.mark.parametrize("cli", ["gemini", "opencode"])
def test_a_cli_that_can_keep_to_reading_answers_where_bubblewrap_does_not_work(
    cli: Cli, server: RehearsalServer, tmp_path: Path
) -> None:
    """The turn only reads, so the CLI's own read-only mode is confinement enough, as it is in a run."""
    home = home_for(cli, server, tmp_path)
    home.play(f"turns:\n  - json: {ANSWER}\n")
    refusing = tmp_path / "refusing"
    refusing.mkdir()
    (refusing / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (refusing / "bwrap").chmod(0o755)
    env = {**home.env, "PATH": f"{refusing}{os.pathsep}{home.env['PATH']}"}
    answer = asker_for(f"cli:{cli}", env=env, records=tmp_path / "records").ask(ReviewBudget(request="Task T-1."))
    assert answer.value.verdict == "needs_changes"
