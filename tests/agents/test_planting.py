"""What an agent leaves in its CLI's own folders for the user's next session, and that it never gets there."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.confined import Cell, Done, cell_in, needs_bubblewrap
from tests.clis import cli_path

from touchline.agents.port import Found, Launch, Request
from touchline.agents.private_home import share_tokens
from touchline.agents.registry import driver_named

SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "codex": {
        ".codex": (
            "config.toml",
            "AGENTS.md",
            "hooks.json",
            ".env",
            "prompts/a.md",
            "rules/a.rules",
            "skills/a/SKILL.md",
        )
    },
    "gemini": {
        ".gemini": (
            "settings.json",
            "GEMINI.md",
            "trustedFolders.json",
            ".env",
            "extensions/a/x.json",
            "commands/a.toml",
        )
    },
    "opencode": {
        ".config/opencode": (
            "opencode.json",
            "AGENTS.md",
            "plugin/a.js",
            "agent/a.md",
            "command/a.md",
            "skill/a/SKILL.md",
        ),
        ".local/share/opencode": ("bin/server", "snapshot/a/config", "opencode.db"),
        ".cache/opencode": ("packages/a.js", "bin/rg"),
        ".local/state/opencode": ("plugin-meta.json",),
    },
}
"""What configures a CLI or is run by it, by folder; all that is in these folders must stay as it is."""


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    needs_bubblewrap()
    return cell_in(tmp_path)


def launch_of(cell: Cell, agent: str, script: str) -> Launch:
    """A command in the place of the CLI."""
    request = Request(prompt="", workspace=cell.workspace, confined=True, keep=cell.records.parent / "session" / "cli")
    found = Found(path=Path("/bin/sh"), version="1")
    return replace(driver_named(agent).launch(request, found, cell.env), argv=("sh", "-c", script))


def done_by(cell: Cell, agent: str, script: str) -> Done:
    return cell.run(launch=launch_of(cell, agent, script))


def files_in(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file() and "work" not in path.parts}


@pytest.mark.parametrize("there", [True, False], ids=["over what is there", "where nothing is"])
@pytest.mark.parametrize("agent", SETTINGS)
def test_what_an_agent_plants_does_not_reach_the_users_next_session(cell: Cell, agent: str, there: bool) -> None:
    home = Path(cell.env["HOME"])
    names = [f"{folder}/{name}" for folder, all_of in SETTINGS[agent].items() for name in all_of]
    for name in names if there else ():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("the user's")
    before = files_in(home)
    each = "; ".join(
        f"mkdir -p $(dirname ~/{name}); echo evil > ~/{name}; echo evil > ~/{name}.new; mv ~/{name}.new ~/{name}; "
        f"rm -rf $(dirname ~/{name}); mkdir -p $(dirname ~/{name}); ln -sf /tmp/evil ~/{name}"
        for name in names
    )
    for _ in range(2):  # what the first run left is there for the second
        done_by(cell, agent, f"{each}; :")
        assert files_in(home) == before
    for folder in SETTINGS[agent]:
        assert there or os.listdir(home / folder) == []
    if there:
        seen = done_by(cell, agent, f"cat ~/{names[0]}")
        assert seen.out == "the user's", "the user's settings hold inside, and what was planted is not in their place"


@pytest.mark.parametrize("agent", SETTINGS)
def test_what_a_cli_writes_is_there_in_its_next_turn(cell: Cell, agent: str) -> None:
    where = {"codex": ".codex/sessions", "gemini": ".gemini/tmp/a/chats", "opencode": ".local/share/opencode"}[agent]
    assert done_by(cell, agent, f"mkdir -p ~/{where} && echo kept > ~/{where}/session").code == 0
    assert done_by(cell, agent, f"cat ~/{where}/session").out == "kept\n"
    assert not (Path(cell.env["HOME"]) / where / "session").exists()


def test_a_place_that_an_agent_made_a_link_is_not_written_through(cell: Cell, tmp_path: Path) -> None:
    """The sandbox is built by us, outside of it: what lies in the private home must not lead it elsewhere."""
    home = Path(cell.env["HOME"])
    (home / ".codex").mkdir()
    done_by(
        cell, "codex", f"ln -s {tmp_path}/escaped ~/.codex/config.toml; ln -s {tmp_path}/escaped ~/.codex/version.json"
    )
    for name in ("config.toml", "version.json"):
        (home / ".codex" / name).write_text("the user's")
    assert done_by(cell, "codex", "cat ~/.codex/config.toml ~/.codex/version.json").out == "the user's" * 2
    assert not os.path.lexists(tmp_path / "escaped")


def test_a_login_is_renewed_for_the_user_and_nothing_else_comes_with_it(cell: Cell) -> None:
    home = Path(cell.env["HOME"])
    file = home / ".local/share/opencode/auth.json"
    file.parent.mkdir(parents=True)
    old = {"type": "oauth", "refresh": "r1", "access": "a1", "expires": 1}
    file.write_text(json.dumps({"openai": old, "other": {"type": "api", "key": "k"}}))
    renewed = {"type": "oauth", "refresh": "r2", "access": "a2", "expires": 2, "enterpriseUrl": "http://evil.invalid"}
    planted = {
        "openai": renewed,
        "other": {"type": "api", "key": "theirs"},
        "http://evil.invalid": {"type": "wellknown", "key": "K", "token": "t"},
    }
    script = f"cat ~/.local/share/opencode/auth.json; echo '{json.dumps(planted)}' > ~/.local/share/opencode/auth.json"
    launch = launch_of(cell, "opencode", script)
    assert json.loads(cell.run(launch=launch).out)["openai"] == old
    for shared in launch.homes:
        share_tokens(shared)
    after = json.loads(file.read_text())
    assert after == {
        "openai": {**old, "refresh": "r2", "access": "a2", "expires": 2},
        "other": {"type": "api", "key": "k"},
    }
    assert file.stat().st_mode & 0o077 == 0
    (launch.homes[0].private / "auth.json").unlink()
    os.mkfifo(launch.homes[0].private / "auth.json")
    for shared in launch.homes:
        share_tokens(shared)  # waits for nobody
    assert json.loads(file.read_text()) == after


def test_real_codex_can_renew_its_login_in_the_sandbox(cell: Cell) -> None:
    cli_path("codex")
    found = driver_named("codex").find({"PATH": f"{cli_path('codex').parent}:{os.environ['PATH']}"})
    assert found is not None
    login = Path(cell.env["HOME"]) / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text('{"OPENAI_API_KEY": "old"}')
    launch = launch_of(cell, "codex", f"echo new-key | {found.path} login --with-api-key")
    launch = replace(launch, needs=(*launch.needs, found.path.resolve()))
    done = cell.run(launch=launch)
    assert done.code == 0, done.err
    assert json.loads(login.read_text())["OPENAI_API_KEY"] == "new-key"
    assert subprocess.run(["ls", login.parent], capture_output=True, text=True, check=True).stdout == "auth.json\n"
