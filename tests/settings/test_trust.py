"""A project's file decides what is run, and with which rights, only when the user has seen exactly that."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.settings.place import Desk, desk_at

from touchline.errors import SettingsError
from touchline.settings.files import read_file
from touchline.settings.keys import keys
from touchline.settings.trust import guarded_of, is_trusted, remember, trust_file

WANTED = '[run]\nagent = "codex"\nsandbox = "none"\ncheck = "curl x | sh"\n[agents.codex]\nflags = ["--yolo"]\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path)


def trusted(desk: Desk) -> None:
    file = read_file(desk.project)
    assert file is not None
    remember(desk.root, guarded_of(file.values()), env=desk.env, home=desk.home)


def test_what_is_guarded() -> None:
    assert {key.name for key in keys().values() if key.guarded} == {
        "database.url",
        "run.sandbox",
        "run.check",
        "judge.model",
        "agents.NAME.flags",
        "agents.NAME.environment",
        "agents.NAME.plugins",
        "build.may_install",
        *(f"checks.{each.short}" for each in keys().values() if each.section == "checks"),
    }


def test_nobody_is_told_of_what_would_not_hold_anyway(desk: Desk) -> None:
    desk.project.write_text(WANTED)
    assert set(desk.found({"run.check": "true"}).ignored) == {"run.sandbox", "agents.codex.flags"}
    assert "run.sandbox" not in desk.found(TOUCHLINE_RUN_SANDBOX="own").notice


def test_until_it_is_trusted_it_is_not_used_and_told(desk: Desk) -> None:
    desk.project.write_text(WANTED)
    desk.write_user('[run]\ncheck = "make test"\n')
    found = desk.found()
    assert found.settings.run.agent == "codex"
    assert (found.settings.run.sandbox, found.settings.run.check) == ("auto", "make test")
    assert found.settings.agents == {}
    assert set(found.ignored) == {"run.sandbox", "run.check", "agents.codex.flags"}
    assert found.settings.notice == found.notice
    for name in found.ignored:
        assert name in found.notice
    assert "touchline config trust" in found.notice


def test_once_trusted_it_holds_until_a_value_changes(desk: Desk) -> None:
    desk.project.write_text(WANTED)
    trusted(desk)
    found = desk.found()
    assert (found.settings.run.sandbox, found.settings.run.check) == ("none", "curl x | sh")
    assert found.settings.agents["codex"].flags == ("--yolo",)
    assert (found.notice, found.ignored) == ("", {})
    # Written otherwise, with another value that needs no trust: the same.
    desk.project.write_text("# new\n" + WANTED.replace('agent = "codex"', 'agent = "claude"'))
    assert desk.found().ignored == {}
    desk.project.write_text(WANTED.replace("curl x", "curl y"))
    assert set(desk.found().ignored) == {"run.sandbox", "run.check", "agents.codex.flags"}
    # One more, one less: both are another content.
    desk.project.write_text(WANTED + 'environment = ["KEY"]\n')
    assert "agents.codex.environment" in desk.found().ignored
    desk.project.write_text('[run]\nsandbox = "none"\n')
    assert set(desk.found().ignored) == {"run.sandbox"}


def test_trust_is_for_one_project(desk: Desk, tmp_path: Path) -> None:
    desk.project.write_text(WANTED)
    trusted(desk)
    other = Desk(home=desk.home, root=tmp_path / "other")
    (other.root / ".git").mkdir(parents=True)
    other.project.write_text(WANTED)
    assert other.found().ignored
    assert not desk.found().ignored


def test_trust_can_be_taken_back(desk: Desk) -> None:
    desk.project.write_text(WANTED)
    trusted(desk)
    remember(desk.root, None, env=desk.env, home=desk.home)
    assert desk.found().ignored


@pytest.mark.parametrize("text", ["", "{", "[]", '{"projects": []}', '{"projects": {"x": 3}}', "[" * 100_000])
def test_a_broken_record_trusts_nobody_and_can_be_written_anew(desk: Desk, text: str) -> None:
    desk.project.write_text(WANTED)
    path = trust_file(desk.env, desk.home)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert desk.found().ignored
    trusted(desk)
    assert not desk.found().ignored
    assert [each.name for each in path.parent.iterdir()] == ["trust.json"]


def test_the_record_is_the_users_own(desk: Desk) -> None:
    desk.project.write_text(WANTED)
    trusted(desk)
    path = trust_file(desk.env, desk.home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0


def test_a_state_folder_that_cannot_be_written_is_told(desk: Desk) -> None:
    (desk.home / "state").write_text("a file is in the way")
    with pytest.raises(SettingsError, match="cannot be written"):
        remember(desk.root, {"run.check": "x"}, env=desk.env, home=desk.home)


def test_what_needs_no_trust_is_always_trusted(desk: Desk) -> None:
    assert is_trusted(desk.root, {}, env=desk.env, home=desk.home)
    desk.project.write_text("[budget]\nturns = 3\n")
    assert desk.found().settings.budget.turns == 3
    assert not os.path.exists(trust_file(desk.env, desk.home))
