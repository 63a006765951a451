"""What a check shows, which checks a repository has, and what each level looks for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from touchline.roles.validation.discovery import find_checks, look_at
from touchline.roles.validation.levels import KINDS, SCOPES, Level
from touchline.roles.validation.results import Outcome, judged, not_run


def outcome(command: str, exit_code: int, output: str = "", **also: object) -> Outcome:
    given = {"how": "exited", "seconds": 1.0, "name": "t", **also}
    return judged(command=command, exit_code=exit_code, output=output, **given).outcome  # type: ignore[arg-type]


class TestResults:
    @pytest.mark.parametrize(
        ("command", "exit_code", "output", "shows"),
        [
            ("pytest -q", 0, "3 passed in 0.12s", Outcome.PASSED),
            ("pytest -q", 1, "1 failed, 2 passed in 0.12s", Outcome.FAILED),
            ("pytest -q", 5, "no tests ran in 0.01s", Outcome.UNVERIFIED),
            ("pytest -q", 0, "", Outcome.UNVERIFIED),
            ("pytest -q", 4, "ERROR: file or directory not found: tests/x.py", Outcome.UNVERIFIED),
            ("pytest -q || true", 0, "1 failed, 2 passed in 0.12s", Outcome.FAILED),
            ("python3 -m unittest", 0, "Ran 0 tests in 0.000s\n\nOK", Outcome.UNVERIFIED),
            ("no-such-program", 127, "not found", Outcome.ERROR),
            ("ruff check .", 0, "All checks passed!", Outcome.PASSED),
            ("ruff check .", 1, "Found 1 error.", Outcome.FAILED),
            ("ruff check .", -9, "", Outcome.ERROR),
        ],
    )
    def test_the_facts_decide(self, command: str, exit_code: int, output: str, shows: Outcome) -> None:
        assert outcome(command, exit_code, output) is shows

    def test_a_timeout_or_a_stop_is_no_pass_even_with_exit_code_0(self) -> None:
        assert outcome("make x", 0, "ok", how="timed_out") is Outcome.UNVERIFIED
        assert outcome("make x", 0, "ok", how="stopped") is Outcome.UNVERIFIED

    def test_expected_text_is_needed_besides_exit_code_0(self) -> None:
        assert outcome("./greet", 0, "hello", expected="hello") is Outcome.PASSED
        assert outcome("./greet", 0, "hello", expected="bye") is Outcome.FAILED
        assert outcome("./greet", 1, "hello", expected="hello") is Outcome.FAILED

    def test_a_script_of_the_repository_counts_as_tests_by_its_kind(self) -> None:
        assert outcome("make test", 0, "Ran 0 tests in 0.000s\n\nOK", kind="unit") is Outcome.UNVERIFIED
        shown = judged(
            name="unit", command="make test", how="exited", exit_code=0, output="7 passed in 1s", seconds=1, kind="unit"
        )
        assert (shown.outcome, shown.passed) == (Outcome.PASSED, 7)

    def test_what_did_not_take_place_is_unverified(self) -> None:
        assert not_run("unit", "there is no command").outcome is Outcome.UNVERIFIED


class TestLevels:
    def test_each_level_looks_for_all_that_the_one_below_does_and_has_more_time(self) -> None:
        scopes = [SCOPES[level] for level in Level]
        for lower, higher in pairwise(scopes):
            assert set(lower.kinds) <= set(higher.kinds)
            assert lower.seconds < higher.seconds
        assert [scope.seconds for scope in scopes] == [30, 120, 600, 1800, 7200]
        assert SCOPES[Level.RELEASE].kinds == KINDS


class TestDiscovery:
    def test_a_python_repository(self, tmp_path: Path) -> None:
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "a.py").write_text("x = 1\n")
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "test_a.py").write_text("def test_a(): pass\n")
        (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
        (tmp_path / "CLAUDE.md").write_text("# Rules\n")
        seen = look_at(tmp_path)
        assert seen.languages == {"Python": 2}
        assert seen.command("unit") == "python3 -m pytest -q"
        assert seen.command("lint") == "ruff check ."
        assert seen.command("types") == ""
        assert seen.conventions == ("CLAUDE.md",)
        assert "src/" in seen.layout

    def test_scripts_of_the_repository_go_before_tools_and_what_is_given_before_all(self, tmp_path: Path) -> None:
        scripts = {"test": "vitest run", "build": "vite build"}
        (tmp_path / "package.json").write_text(json.dumps({"scripts": scripts, "jest": {}}))
        (tmp_path / "tsconfig.json").write_text("{}")
        (tmp_path / "Makefile").write_text("VAR := 1\ntest:\n\ttrue\nlint: test\n\ttrue\n")
        found = {check.kind: (check.command, check.found_in) for check in find_checks(tmp_path)}
        assert found == {
            "types": ("npx --no-install tsc --noEmit", "tsconfig.json"),
            "lint": ("make lint", "Makefile"),
            "unit": ("npm run --silent test", "package.json"),
            "build": ("npm run --silent build", "package.json"),
        }
        given = {check.kind: check for check in find_checks(tmp_path, given={"unit": "tox", "lint": " "})}
        assert (given["unit"].command, given["unit"].found_in) == ("tox", "given")
        assert given["lint"].command == "make lint"

    def test_the_placeholder_of_npm_init_is_no_test(self, tmp_path: Path) -> None:
        scripts = {"test": 'echo "Error: no test specified" && exit 1'}
        (tmp_path / "package.json").write_text(json.dumps({"scripts": scripts}))
        assert find_checks(tmp_path) == ()

    @pytest.mark.parametrize("broken", ["{", '{"scripts": 3}', "[]"])
    def test_broken_files_show_nothing_and_break_nothing(self, tmp_path: Path, broken: str) -> None:
        (tmp_path / "package.json").write_text(broken)
        (tmp_path / "pyproject.toml").write_text(broken)
        assert find_checks(tmp_path) == ()

    def test_an_empty_folder_has_nothing(self, tmp_path: Path) -> None:
        seen = look_at(tmp_path)
        assert (seen.languages, seen.checks, seen.files) == ({}, (), 0)

    def test_dependencies_and_links_are_not_looked_into(self, tmp_path: Path) -> None:
        (tmp_path / "node_modules" / "x").mkdir(parents=True)
        (tmp_path / "node_modules" / "x" / "a.js").write_text("1")
        (tmp_path / "loop").symlink_to(tmp_path)
        assert look_at(tmp_path).files == 0
