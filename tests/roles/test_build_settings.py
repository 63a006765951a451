"""What a person set reaches the build: its sections, and those of the agent that was chosen."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.cli.test_doctor import program
from tests.roles.yard import code_turns, opened, task, writes
from tests.sessions.house import environment, repository

from touchline.cli.build_settings import Given, changed, settings_of
from touchline.errors import InputError
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
model = "JUDGE"

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
requests = 7
"""


def set_to(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's settings."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    (folder / "config" / "touchline").mkdir(parents=True, exist_ok=True)
    (folder / "config" / "touchline" / "config.toml").write_text(text)


def test_every_setting_of_a_file_reaches_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(tmp_path / "repo")
    judge = f"scripted:{tmp_path / 'answers.yaml'}"
    (tmp_path / "answers.yaml").write_text("[]\n")
    set_to(FILE.replace("JUDGE", judge), tmp_path, monkeypatch)
    (tmp_path / "script.yaml").write_text("turns: [{text: hello}]\n")
    _, chosen = settings_of(Given(script=tmp_path / "script.yaml"), repo)
    expected = {
        "agent": "scripted",
        "model": "big",
        "judge": judge,
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
        "plugins": (),
        "requests": 7,
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
            plugins=("/plug-ins",),
            requests=7,
        )
        build = yard.end(id)
        assert build.status == "complete", build.detail
        with yard.database.reading() as connection:
            asked = session_record(connection, yard.tasks(id)["T-001"].sessions[0]).asked
    assert (asked.environment, asked.turn_seconds) == (("COLOUR",), 99.0)
    assert (asked.plugins, asked.requests) == (("/plug-ins",), 7)


def test_another_agent_at_the_resumption_brings_its_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "repo")
    program(tmp_path / "bin", "claude", "echo 2.1.325")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    set_to('[agents.claude]\nflags = ["--slow"]\nplugins = ["/p"]\nrequests = 5\n', tmp_path, monkeypatch)
    before = BuildSettings(
        agent="scripted", model="small", sandbox="none", flags=("--old",), agent_settings={"script": "x"}, parallel=3
    )
    after = changed(before, Given(agent="claude", may_install=True), repo)
    own = (after.agent, after.model, after.flags, after.plugins, after.requests, dict(after.agent_settings))
    assert own == ("claude", None, ("--slow",), ("/p",), 5, {})
    assert (after.parallel, after.sandbox, after.may_install) == (3, "none", True), "all else stays"
    assert changed(before, Given(model="big"), repo) == replace(before, model="big")


def test_what_the_agent_cannot_do_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "repo")
    (tmp_path / "script.yaml").write_text("turns: [{text: hello}]\n")
    set_to('[agents.scripted]\nplugins = ["/p"]\n', tmp_path, monkeypatch)
    with pytest.raises(InputError, match=r"agents\.scripted\.plugins is set, which scripted cannot do"):
        settings_of(Given(script=tmp_path / "script.yaml", sandbox="none"), repo)
