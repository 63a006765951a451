"""What a person set reaches the build: its sections, and those of the agent that was chosen."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from tests.roles.yard import code_turns, opened, task, writes
from tests.sessions.house import environment, repository

from touchline.cli.build_settings import Given, settings_of
from touchline.roles.build.settings import BuildSettings
from touchline.roles.validation.levels import Level
from touchline.sessions.records import session_record

FILE = """
[run]
agent = "scripted"
sandbox = "none"
model = "big"
turn_seconds = 77
silence_seconds = 66

[judge]
model = "cli:claude"

[limits]
planning_turns = 4
coding_turns = 5

[build]
parallel = 3
plan = false
max_failed = 1
max_seconds = 900
validation = "quick"
check_seconds = 12
may_install = true
usd = 3.5
tokens = 70000
runs_per_day = 9

[checks]
unit = "make test"

[agents.scripted]
flags = ["--slow"]
environment = ["COLOUR"]
"""


def test_every_setting_of_a_file_reaches_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(tmp_path / "repo")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "touchline").mkdir(parents=True)
    (tmp_path / "config" / "touchline" / "config.toml").write_text(FILE)
    (tmp_path / "script.yaml").write_text("turns: [{text: hello}]\n")
    _, chosen = settings_of(Given(script=tmp_path / "script.yaml"), repo)
    expected = {
        "agent": "scripted",
        "model": "big",
        "judge": "cli:claude",
        "parallel": 3,
        "plan": False,
        "planning_turns": 4,
        "coding_turns": 5,
        "max_failed": 1,
        "max_seconds": 900,
        "validation": Level.QUICK,
        "commands": {"unit": "make test"},
        "check_seconds": 12,
        "may_install": True,
        "sandbox": "none",
        "usd": 3.5,
        "tokens": 70000,
        "runs_per_day": 9,
        "turn_seconds": 77,
        "silence_seconds": 66,
        "flags": ("--slow",),
        "environment": ("COLOUR",),
        "agent_settings": {"script": str(tmp_path / "script.yaml")},
    }
    assert {each.name: getattr(chosen, each.name) for each in fields(BuildSettings)} == expected
    assert BuildSettings.from_json(chosen.to_json()) == chosen, "and is read back as it was"


@pytest.mark.timeout(120)
def test_agents_and_checks_get_what_the_build_was_given(tmp_path: Path) -> None:
    check = 'test "$COLOUR" = blue'
    env = {**environment(tmp_path), "COLOUR": "blue"}
    with opened(tmp_path, env=env) as yard:
        id = yard.start(
            (task("T-001", "blue.py", check=check),),
            code_turns("T-001", *writes("blue.py", check="test $COLOUR = blue")),
            plan=False,
            environment=("COLOUR",),
            turn_seconds=99.0,
        )
        build = yard.end(id)
        assert build.status == "complete", build.detail
        with yard.database.reading() as connection:
            asked = session_record(connection, yard.tasks(id)["T-001"].sessions[0]).asked
    assert (asked.environment, asked.turn_seconds) == (("COLOUR",), 99.0)
