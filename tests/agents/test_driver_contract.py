"""Every driver of ours against the public contract suite, those with a CLI also in a real turn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.clis import home_for

from touchline.agents.contract_tests import DriverContract, Live
from touchline.agents.port import Driver
from touchline.agents.registry import BUILT_IN, driver_named
from touchline.rehearsal.pointing import Cli
from touchline.rehearsal.server import serving

CAPTURES = Path(__file__).resolve().parents[1] / "data" / "captures"


class Rehearsed(DriverContract):
    """A driver whose CLI can be pointed at the rehearsal server."""

    cli: ClassVar[Cli]

    def live(self, folder: Path) -> Iterator[Live]:
        with serving() as server:
            home = home_for(self.cli, server, folder)
            home.play("turns: [{text: Nothing had to be done.}]")
            yield Live(env=home.env, workspace=home.workspace)


class TestClaude(Rehearsed):
    driver: ClassVar[Driver] = driver_named("claude")
    cli = "claude"
    lines = (
        json.dumps({"type": "user", "isReplay": True, "message": {"content": "Do it."}}).encode(),
        *(CAPTURES / "claude" / "a_plain.jsonl").read_bytes().splitlines(),
    )


class TestCodex(Rehearsed):
    driver: ClassVar[Driver] = driver_named("codex")
    cli = "codex"
    lines = tuple((CAPTURES / "codex" / "a_plain.jsonl").read_bytes().splitlines())


class TestScripted(DriverContract):
    driver: ClassVar[Driver] = driver_named("scripted")
    lines = TestClaude.lines
    settings: ClassVar[Mapping[str, Any]] = {"script": str(Path(__file__).with_name("plain.yaml"))}

    def live(self, folder: Path) -> Iterator[Live]:
        workspace = folder / "workspace"
        workspace.mkdir()
        yield Live(env={"PATH": "/usr/bin:/bin", "HOME": str(folder)}, workspace=workspace, home=folder / "home")


class TestOpencode(DriverContract):
    driver: ClassVar[Driver] = driver_named("opencode")


class TestGemini(DriverContract):
    driver: ClassVar[Driver] = driver_named("gemini")


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_driver_of_ours_can_be_loaded(name: str) -> None:
    driver = driver_named(name)
    assert driver.name == name
    assert driver.advice()
