"""Which agents there are, which one is taken, and what is known of their versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.agents import registry, versions
from touchline.agents.registry import BUILT_IN, driver_named, driver_names, first_installed
from touchline.agents.turns import TurnLimits
from touchline.agents.versions import Misbehaviour, ask_version, known, misbehaviour, warning
from touchline.errors import AgentError


def program(folder: Path, name: str, says: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def env(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}", "HOME": str(folder)}


def test_ours_are_there_even_with_stale_metadata() -> None:
    assert set(BUILT_IN) <= set(driver_names())


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(AgentError, match=r"'cursor'.*claude, codex"):
        driver_named("cursor")


def test_a_plug_in_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_driver.py").write_text(
        "from touchline.agents.claude import Claude\n"
        "class Theirs(Claude):\n    name = 'theirs'\n"
        "driver = Theirs()\nnone = object()\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[touchline.agents]\ntheirs = their_driver:driver\nbroken = their_driver:missing\nnone = their_driver:none\n"
        "wrong = their_driver:driver\nclaude = their_driver:driver\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert driver_named("theirs").name == "theirs"
    assert "theirs" in registry.drivers()
    assert "broken" not in registry.drivers()
    with pytest.raises(AgentError, match="cannot be loaded"):
        driver_named("broken")
    with pytest.raises(AgentError, match="is no driver"):
        driver_named("none")
    with pytest.raises(AgentError, match="calls itself 'theirs'"):
        driver_named("wrong")
    assert driver_named("claude").name == "claude", "a plug-in does not replace one of ours"


def test_the_first_installed_follows_the_stated_order(tmp_path: Path) -> None:
    program(tmp_path, "codex", "codex-cli 0.166.0")
    assert first_installed(env(tmp_path))[0].name == "codex"
    program(tmp_path, "claude", "2.1.325 (Claude Code)")
    driver, found = first_installed(env(tmp_path))
    assert (driver.name, found.version, found.path) == ("claude", "2.1.325", tmp_path / "claude")


def test_with_none_installed_the_message_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        first_installed(env(tmp_path))
    told = str(caught.value)
    for words in ("@anthropic-ai/claude-code", "@openai/codex", "touchline demo", "make demo"):
        assert words in told


def test_versions_are_read_from_what_programs_print(tmp_path: Path) -> None:
    for says, version in (
        ("2.1.325 (Claude Code)", "2.1.325"),
        ("codex-cli 0.166.0-alpha.1", "0.166.0"),
        ("no number", ""),
    ):
        program(tmp_path, "cli", says)
        assert ask_version(tmp_path / "cli", env(tmp_path)) == version
    assert ask_version(tmp_path / "nowhere", env(tmp_path)) == ""
    (tmp_path / "broken").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "broken").chmod(0o755)
    assert ask_version(tmp_path / "broken", env(tmp_path)) == ""


@pytest.mark.parametrize(
    ("conditions", "version", "holds"),
    [
        ("<2.1", "2.0.99", True),
        ("<2.1", "2.1", False),
        ("<2.1", "2.1.0", False),
        (">=2.1, <2.1.300", "2.1.197", True),
        (">=2.1, <2.1.300", "2.1.325", False),
        ("==1.18.33", "1.18.33", True),
        ("<=0.61.0", "0.61", True),
        (">0.61.0", "0.61.1", True),
        ("*", "", True),
        ("<9.9", "", False),
    ],
)
def test_conditions(conditions: str, version: str, holds: bool) -> None:
    assert Misbehaviour(cli="x", versions=conditions, wrong="w", todo="").concerns(version) is holds


def test_what_is_known_is_sound() -> None:
    assert {entry.cli for entry in known()} >= {"claude", "codex", "opencode", "gemini"}
    assert all(entry.wrong.endswith(".") and (not entry.todo or entry.todo.endswith(".")) for entry in known())


def test_an_old_version_is_warned_about_with_what_to_do() -> None:
    assert "2.1.197" in warning("claude", "2.1.197")
    assert "@latest" in warning("claude", "2.0.5")
    assert warning("claude", "2.1.325") == ""
    assert misbehaviour("claude", "2.1.325"), "what Touchline works around is still told"
    assert warning("nobody", "1.0") == ""


def test_the_warning_reaches_who_looks_for_the_cli(tmp_path: Path) -> None:
    program(tmp_path, "claude", "2.1.197 (Claude Code)")
    found = driver_named("claude").find(env(tmp_path))
    assert found is not None
    assert found.warning == versions.warning("claude", "2.1.197") != ""


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_table_of_abilities_is_as_the_code_says(name: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "agents.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` | ") and line.count("|") == 12)
    can = driver_named(name).abilities
    order = [can.speak, can.interrupt, can.resume, can.schema, can.read_only, can.own_sandbox]
    order += [can.max_turns, can.skills, can.cost]
    assert [cell.partition(":")[0].strip() for cell in row.split("|")[3:-1]] == [
        "yes" if each else "no" for each in order
    ]


def test_the_documented_limits_and_order_are_the_codes() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "agents.md").read_text()
    limits = TurnLimits()
    assert f"`output_bytes` | {(limits.output_bytes or 0) // 2**20} MiB" in page
    assert f"`line_bytes` | {limits.line_bytes // 2**20} MiB" in page
    assert f"`grace_seconds` ({limits.grace_seconds:g})" in page
    assert f"`tool_grace_seconds` ({limits.tool_grace_seconds:g})" in page
    assert f"in this order: {', '.join(registry.ORDER)}, then" in page
