"""Validations of real small repositories, in the best confinement this machine has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from touchline.agents.environment import environment_for
from touchline.agents.sandbox import probe
from touchline.roles.validation.levels import Level
from touchline.roles.validation.results import Outcome
from touchline.roles.validation.running import Site, run_command, validate


@pytest.fixture
def site(tmp_path: Path) -> Site:
    workspace = tmp_path / "repository"
    workspace.mkdir()
    return Site(
        workspace=workspace,
        confinement="bubblewrap" if probe(os.environ).bubblewrap else "none",
        env=environment_for(os.environ, driver="scripted"),
        records=tmp_path / "children",
        outputs=tmp_path / "outputs",
    )


def write(site: Site, name: str, text: str) -> None:
    path = site.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


UNITTEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual({}, 1)\n"


def test_a_level_runs_what_is_there_and_says_what_is_not(site: Site) -> None:
    write(site, "app.py", "x = 1\n")
    write(site, "test_app.py", UNITTEST.format(1))
    found = validate(Level.STANDARD, site, given={"unit": "python3 -m unittest -q"})
    shown = {result.name: result.outcome for result in found.results}
    assert shown == {"syntax": Outcome.PASSED, "unit": Outcome.PASSED}
    assert found.absent == ("types", "lint")
    assert found.outcome is Outcome.PASSED
    assert not list(site.workspace.rglob("app*.pyc")), "a check leaves nothing in the workspace by itself"


def test_a_syntax_error_and_a_failing_test_fail(site: Site) -> None:
    write(site, "app.py", "x = = 1\n")
    write(site, "test_app.py", UNITTEST.format(2))
    found = validate(Level.STANDARD, site, given={"unit": "python3 -m unittest -q test_app"})
    assert [result.outcome for result in found.results] == [Outcome.FAILED, Outcome.FAILED]
    unit = found.results[1]
    assert unit.failed == 1
    assert Path(unit.output_path).read_text().count("AssertionError") == 1
    assert found.outcome is Outcome.FAILED


def test_nothing_to_check_is_no_pass_at_any_level(site: Site) -> None:
    for level in Level:
        found = validate(level, site)
        assert (found.results, found.outcome) == ((), Outcome.UNVERIFIED)
        assert found.absent


@pytest.mark.parametrize("level", list(Level))
def test_that_code_can_be_parsed_is_a_pass_only_where_no_more_is_asked(site: Site, level: Level) -> None:
    write(site, "app.py", "x = 1\n")
    found = validate(level, site)
    assert [result.outcome for result in found.results] == [Outcome.PASSED]
    assert found.outcome is (Outcome.PASSED if level is Level.QUICK else Outcome.UNVERIFIED)


@pytest.mark.parametrize("level", [level for level in Level if level is not Level.QUICK])
def test_no_test_collected_is_no_pass_at_any_level_that_runs_tests(site: Site, level: Level) -> None:
    found = validate(level, site, given={"unit": "python3 -m unittest -q"})
    assert found.outcome is Outcome.UNVERIFIED
    assert "No test" in found.results[0].why


@pytest.mark.parametrize("level", list(Level))
def test_running_out_of_time_is_no_pass_at_any_level(site: Site, level: Level) -> None:
    found = validate(level, site, given={"types": "sleep 60", "lint": "true"}, seconds=0.5)
    assert [(result.name, result.outcome) for result in found.results] == [
        ("types", Outcome.UNVERIFIED),
        ("lint", Outcome.UNVERIFIED),
    ]
    assert "time limit" in found.results[0].why
    assert "over before it" in found.results[1].why


def test_a_missing_program_is_an_error(site: Site) -> None:
    result = run_command("no-such-program --now", site, name="T-001", seconds=10)
    assert result.outcome is Outcome.ERROR
    assert run_command(" ", site, name="T-001", seconds=10).outcome is Outcome.UNVERIFIED


def test_expected_text_and_exit_code(site: Site) -> None:
    assert run_command("echo hello", site, name="a", seconds=10, expected="hello").outcome is Outcome.PASSED
    assert run_command("echo hello", site, name="a", seconds=10, expected="bye").outcome is Outcome.FAILED
    assert run_command("echo hello; exit 3", site, name="a", seconds=10, expected="hello").outcome is Outcome.FAILED


def test_a_check_sees_no_secret_and_cannot_leave_its_workspace(site: Site, tmp_path: Path) -> None:
    if site.confinement != "bubblewrap":
        pytest.skip("bubblewrap does not work on this machine")
    outside = tmp_path / "outside"
    result = run_command(f"echo x > {outside}; echo inside > here", site, name="a", seconds=10)
    assert result.outcome is Outcome.PASSED
    assert not outside.exists()
    assert (site.workspace / "here").read_text() == "inside\n"
