"""How agents of the Agent Client Protocol are set up, what they may do, and that their drivers keep the contract."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from touchline.agents.acp import AcpDriver
from touchline.agents.acp_gemini import keep_session
from touchline.agents.acp_opencode import permission
from touchline.agents.acp_permissions import allowed, outcome
from touchline.agents.acp_presets import gemini, opencode
from touchline.agents.contract_tests import DriverContract
from touchline.agents.port import Found, Request
from touchline.errors import InputError

DATA = Path(__file__).parent.parent / "data" / "acp" / "raw"
REQUEST = Request(prompt="Do it.", workspace=Path("/work"), confined=True)
FOUND = Found(path=Path("/bin/agent"), version="1")


def raw(name: str) -> list[bytes]:
    return (DATA / f"{name}.jsonl").read_bytes().splitlines()


class TestPermissions:
    def test_policy(self, tmp_path: Path) -> None:
        work, more = tmp_path / "work", tmp_path / "more"
        work.mkdir()
        (work / "out").symlink_to(tmp_path)
        confined = Request(prompt="", workspace=work, confined=True)
        free = Request(prompt="", workspace=work, folders=(more,))
        looking = Request(prompt="", workspace=work, confined=True, read_only=True)

        def edit(path: str) -> dict[str, Any]:
            return {"kind": "edit", "locations": [{"path": path}]}

        assert allowed(confined, edit("/etc/passwd"))
        assert allowed(free, edit(str(work / "a.py")))
        assert allowed(free, edit("a.py"))
        assert allowed(free, edit(str(more / "b.py")))
        assert allowed(free, {"kind": "execute"})
        for path in ("/etc/passwd", str(work / ".." / "x"), "../x", str(work / "out" / "x"), "a\0b"):
            assert not allowed(free, edit(path)), path
        assert [allowed(looking, {"kind": kind}) for kind in ("read", "search", "edit", "execute", None)] == [
            True,
            True,
            False,
            False,
            False,
        ]

    def test_this_once_is_chosen_before_always(self) -> None:
        options = [
            {"optionId": "always", "kind": "allow_always"},
            {"optionId": "once", "kind": "allow_once"},
            {"optionId": "never", "kind": "reject_always"},
        ]
        assert outcome(options, allow=True) == {"outcome": "selected", "optionId": "once"}
        assert outcome(options, allow=False) == {"outcome": "selected", "optionId": "never"}
        assert outcome(options[:2], allow=False) == {"outcome": "cancelled"}
        assert outcome("nonsense", allow=True) == {"outcome": "cancelled"}


class TestSetUp:
    def test_opencode_lays_its_configuration_over_the_users(self) -> None:
        env = {
            "HOME": "/home/u",
            "OPENCODE_CONFIG_CONTENT": '{"model": "p/m", "permission": "ask", "autoupdate": true}',
        }
        request = replace(REQUEST, settings={"config": {"small_model": "p/s"}})
        config = json.loads(opencode.launch(request, FOUND, env).env["OPENCODE_CONFIG_CONTENT"])
        assert (config["model"], config["small_model"], config["autoupdate"]) == ("p/m", "p/s", False)
        assert config["permission"]["*"] == "allow"
        with pytest.raises(InputError, match="not JSON"):
            opencode.launch(REQUEST, FOUND, {"OPENCODE_CONFIG_CONTENT": "{"})

    def test_opencode_denies_by_need(self) -> None:
        assert permission(REQUEST)["external_directory"]["*"] == "allow"
        free = permission(replace(REQUEST, confined=False, folders=(Path("/more"),)))
        assert free["external_directory"] == {"*": "deny", "/more": "allow", "/more/*": "allow"}
        looking = permission(replace(REQUEST, read_only=True))
        assert (looking["*"], looking["read"]) == ("deny", "allow")
        assert not {"edit", "bash", "write", "task", "webfetch"} & looking.keys()

    def test_a_home_of_its_own(self, tmp_path: Path) -> None:
        request = replace(REQUEST, home=tmp_path / "home")
        for driver in (opencode, gemini):
            launch = driver.launch(request, FOUND, {"HOME": "/home/u", "GEMINI_API_KEY": "k"})
            assert all(folder.is_relative_to(tmp_path) for folder in launch.keeps)
        settings = json.loads((tmp_path / "home" / ".gemini" / "settings.json").read_text())
        assert settings["security"]["auth"]["selectedType"] == "gemini-api-key"

    def test_gemini_keeps_what_its_settings_say(self, tmp_path: Path) -> None:
        file = tmp_path / ".gemini" / "settings.json"
        file.parent.mkdir()
        file.write_text('{"general": {"enableAutoUpdate": true, "vimMode": true}}')
        gemini.launch(replace(REQUEST, home=tmp_path), FOUND, {})
        settings = json.loads(file.read_text())
        assert settings["general"]["enableAutoUpdate"] is True
        assert settings["privacy"]["usageStatisticsEnabled"] is False
        file.write_text("{")
        with pytest.raises(InputError, match="cannot be read"):
            gemini.launch(replace(REQUEST, home=tmp_path), FOUND, {})

    def test_a_session_of_gemini_is_moved_out_of_harms_way(self, tmp_path: Path) -> None:
        chats = tmp_path / ".gemini" / "tmp" / "work" / "chats"
        chats.mkdir(parents=True)
        mine, other = "0a1b2c3d-aaaa", "0a1b2c3d-bbbb"
        for minute, session in (("04-09", mine), ("04-10", other)):
            file = chats / f"session-2026-11-16T{minute}-{session[:8]}.jsonl"
            file.write_text(json.dumps({"sessionId": session}) + "\n")
        gemini.launch(replace(REQUEST, home=tmp_path, session=mine), FOUND, {})
        names = sorted(file.name for file in chats.iterdir())
        assert names == ["session-2026-11-16T04-09-0a1b2c3d-kept.jsonl", "session-2026-11-16T04-10-0a1b2c3d.jsonl"]
        # A stub that a load left beside it must not take its place.
        (chats / "session-2026-11-16T04-09-0a1b2c3d.jsonl").write_text(json.dumps({"sessionId": mine, "stub": 1}))
        keep_session(tmp_path / ".gemini", mine)
        assert "stub" not in (chats / names[0]).read_text()
        keep_session(tmp_path, "../../x/y/z*")

    def test_a_schema_is_refused(self) -> None:
        with pytest.raises(InputError, match="schema"):
            opencode.launch(replace(REQUEST, schema={"type": "object"}), FOUND, {})

    def test_an_agent_by_its_command_alone(self) -> None:
        goose = AcpDriver.of("goose", ("goose", "acp"))
        launch = goose.launch(replace(REQUEST, flags=("-v",), settings={"env": {"A": "b"}}), FOUND, {})
        assert (launch.argv, launch.env, launch.talks) == (("/bin/agent", "acp", "-v"), {"A": "b"}, True)
        assert goose.find({"PATH": "/nowhere"}) is None
        with pytest.raises(InputError, match="name and a command"):
            AcpDriver.of("", ())


class TestOpencodeContract(DriverContract):
    driver = opencode
    lines: ClassVar[list[bytes]] = raw("opencode_tools")


class TestGeminiContract(DriverContract):
    driver = gemini
    lines: ClassVar[list[bytes]] = raw("gemini_tools")


class TestStrangerContract(DriverContract):
    driver = AcpDriver.of("stranger", ("stranger", "acp"))
    lines: ClassVar[list[bytes]] = raw("gemini_tools")
