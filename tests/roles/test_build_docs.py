"""The reference page about builds says what the code does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from touchline.roles.build import failures
from touchline.roles.build.accepting import OPTION as ACCEPTABLE
from touchline.roles.build.escalating import OPTIONS
from touchline.roles.build.failures import Failure
from touchline.roles.build.settings import BuildSettings
from touchline.roles.build.states import TABLE
from touchline.roles.build.stopping import MAX_FAILED, MAX_SECONDS, StopReason
from touchline.roles.validation.levels import SCOPES
from touchline.store.life import edges

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "builds.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    """The tables under a heading: the first cell's word, and the other cells."""
    part = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in part.splitlines() if line[:1] == "|"]
    return {row[0].strip(" `"): row[1:] for row in cells if row[0].startswith(" `") or row[0].startswith("`")}


def test_the_states_and_what_may_follow() -> None:
    said = {name: tuple(re.findall(r"`(\w+)`", cells[0])) for name, cells in rows("States of a coder").items()}
    assert said == {str(state): tuple(map(str, after)) for state, after in TABLE.items()}


def test_every_status_is_explained() -> None:
    assert set(rows("Statuses")) == set(edges("builds")) | set(edges("tasks"))


def test_every_failure_has_its_decision_with_its_numbers() -> None:
    said = rows("What follows from a failure")
    assert set(said) == set(map(str, Failure))
    numbers = {
        "syntax": failures.SYNTAX_TRIES,
        "missing_dependency": failures.INSTALL_TRIES,
        "conflict": failures.CONFLICT_TRIES,
        "validation": failures.VALIDATION_TRIES,
        "abandoned": failures.ABANDONED_TRIES,
    }
    for name, tries in numbers.items():
        assert f"{tries} attempts in all" in said[name][0], name
    waits = [int(number) for number in re.findall(r"\d+", said["transient"][0])]
    assert waits == [int(seconds) for seconds in failures.BACK_OFF]
    uncounted = {name for name, cells in said.items() if cells[0].endswith("no attempt")}
    decided = {f for f in Failure if not failures.decide_failure(f, attempts=1, detail="x").counts}
    assert uncounted == set(map(str, decided))


def test_every_reason_to_stop() -> None:
    said = rows("Why a build stops")
    assert set(said) == set(map(str, StopReason))
    assert str(MAX_FAILED) in said["too_many_failed"][0]
    assert f"{MAX_SECONDS:.0f}" in said["time_limit"][0]


def test_every_answer() -> None:
    assert {option.label for option in (ACCEPTABLE, *OPTIONS)} <= set(rows("Answers to a task that asks for a person"))


def test_every_setting_with_its_default() -> None:
    said = rows("Settings of a build")
    default = BuildSettings()
    assert list(said) == [each.name for each in fields(BuildSettings)]
    for each in fields(BuildSettings):
        value = getattr(default, each.name)
        words = "none" if value is None else "empty" if value in ("", {}, ()) else str(value).lower().removesuffix(".0")
        assert said[each.name][0] == words, each.name


def test_every_level() -> None:
    said = rows("Levels of validation")
    assert {name: int(cells[0]) for name, cells in said.items()} == {str(n): int(s.seconds) for n, s in SCOPES.items()}
