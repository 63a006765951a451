"""The command that puts hooks in place: what it shows, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.forking import touchline_run

from touchline.errors import InputError
from touchline.hooks.agents_known import hook_command
from touchline.hooks.install import apply, plan_install, plan_uninstall

THEIRS = '{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": [ {"hooks": []} ]\r\n\t}, "odd":[1,2 ,3]\r\n}'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def touchline(project: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    if stdin == subprocess.DEVNULL:
        return touchline_run(["hook", *arguments], env={**os.environ, "HOME": str(project.parent)}, cwd=project)
    return subprocess.run(
        [sys.executable, "-m", "touchline", "hook", *arguments],
        cwd=project,
        env={**os.environ, "HOME": str(project.parent)},
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_in_and_out_again_leaves_a_persons_file_as_it_was(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(THEIRS.encode())
    path.chmod(0o640)
    done = touchline(project, "install", "claude", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"+++ {path}" in done.stdout
    assert touchline(project, "status", "claude").stdout.splitlines()[0].split()[:3] == [
        "claude",
        "project",
        "installed",
    ]
    again = touchline(project, "install", "claude", "--yes")
    assert "Nothing to do" in again.stderr
    assert touchline(project, "uninstall", "claude", "--yes").returncode == 0
    assert path.read_bytes() == THEIRS.encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_project_without_settings_has_none_afterwards(project: Path) -> None:
    assert touchline(project, "install", "claude", "--local", "--yes").returncode == 0
    settings = project / ".claude" / "settings.local.json"
    assert set(json.loads(settings.read_text())) == {"hooks"}
    assert touchline(project, "uninstall", "claude", "--local", "--yes").returncode == 0
    assert [path.name for path in project.iterdir()] == [".git"]


def test_a_plug_in_leaves_no_folder_behind(project: Path) -> None:
    apply(plan_install("opencode", "project", folder=project, env={"HOME": str(project.parent)}))
    apply(plan_uninstall("opencode", "project", folder=project, env={"HOME": str(project.parent)}))
    assert [path.name for path in project.iterdir()] == [".git"]


def test_from_a_folder_below_the_project_is_meant(project: Path) -> None:
    (project / "src").mkdir()
    assert touchline(project / "src", "install", "claude", "--yes").returncode == 0
    assert (project / ".claude" / "settings.json").exists()


def test_without_a_terminal_and_without_yes_nothing_happens(project: Path) -> None:
    done = touchline(project, "install", "claude")
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (project / ".claude").exists()


@pytest.mark.parametrize(("said", "code", "there"), [(b"n\n", 1, False), (b"y\n", 0, True)])
def test_on_a_terminal_it_asks(project: Path, said: bytes, code: int, there: bool) -> None:
    leader, follower = pty.openpty()
    try:
        os.write(leader, said)
        done = subprocess.run(
            [sys.executable, "-m", "touchline", "hook", "install", "claude"],
            cwd=project,
            env={**os.environ, "HOME": str(project.parent)},
            stdin=follower,
            stderr=follower,
            stdout=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    finally:
        os.close(follower)
        os.close(leader)
    assert done.returncode == code
    assert (project / ".claude" / "settings.json").exists() is there


def test_a_dry_run_only_shows(project: Path) -> None:
    done = touchline(project, "install", "claude", "--dry-run")
    assert done.returncode == 0
    assert "entry.py" in done.stdout
    assert not (project / ".claude").exists()


@pytest.mark.parametrize("content", [b"{", b'{"x":NaN}', b"// note\n{}", b'{"hooks": []}', b"\xff\xfe{}", b"[]"])
def test_a_file_that_cannot_be_used_is_named_and_left(project: Path, content: bytes) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(content)
    done = touchline(project, "install", "claude", "--yes")
    assert done.returncode == 2
    assert "settings.json" in done.stderr
    assert path.read_bytes() == content
    assert touchline(project, "status", "claude").returncode in (0, 1)


def test_a_link_stays_a_link(project: Path) -> None:
    kept = project.parent / "dotfiles.json"
    kept.write_text('{"model": "opus"}')
    link = project / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(kept)
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    assert link.is_symlink()
    assert "hooks" in json.loads(kept.read_text())
    apply(plan_uninstall("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    assert link.is_symlink()
    assert kept.read_text() == '{"model": "opus"}'


def test_a_link_to_nowhere_and_a_folder_in_its_place_are_errors(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be read"):
        plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)})
    path.rmdir()
    path.symlink_to(project / "nowhere.json")
    with pytest.raises(InputError, match="a link to a file that is not there"):
        plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)})


def test_a_file_that_changed_since_it_was_shown_is_not_overwritten(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    change = plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)})
    path.write_text('{"model": "opus"}')
    with pytest.raises(InputError, match="changed meanwhile"):
        apply(change)
    assert path.read_text() == '{"model": "opus"}'


def test_a_byte_order_mark_stays(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n')
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    apply(plan_uninstall("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    assert path.read_bytes() == b'\xef\xbb\xbf{"a": 1}\n'


def test_a_persons_own_settings_are_found_where_the_agent_looks(project: Path) -> None:
    home = project.parent
    found = {
        agent: plan_install(agent, "user", folder=project, env={"HOME": str(home)}).path.relative_to(home)
        for agent in ("claude", "codex", "gemini", "opencode")
    }
    assert {agent: str(path) for agent, path in found.items()} == {
        "claude": ".claude/settings.json",
        "codex": ".codex/hooks.json",
        "gemini": ".gemini/settings.json",
        "opencode": ".config/opencode/plugins/touchline.js",
    }
    moved = plan_install("claude", "user", folder=project, env={"CLAUDE_CONFIG_DIR": str(home / "else")})
    assert moved.path == home / "else" / "settings.json"


def test_status_tells_what_is_wrong(project: Path) -> None:
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    path = project / ".claude" / "settings.json"
    whole = path.read_text()
    path.write_text(whole.replace("/hooks/entry.py", "/hooks/../gone/touchline/hooks/entry.py"))
    done = touchline(project, "status", "claude", "--json")
    assert done.returncode == 1
    rows = json.loads(done.stdout)["hooks"]
    assert rows[0]["result"] == "broken"
    settings = json.loads(whole)
    del settings["hooks"]["Stop"]
    path.write_text(json.dumps(settings))
    rows = json.loads(touchline(project, "status", "claude", "--json").stdout)["hooks"]
    assert (rows[0]["result"], "Stop" in rows[0]["detail"]) == ("partly", True)


def test_a_project_s_file_is_said_to_be_shared(project: Path) -> None:
    assert "--local or --user" in touchline(project, "install", "claude", "--dry-run").stderr
    assert "Others get" not in touchline(project, "install", "claude", "--dry-run", "--local").stderr


@pytest.mark.parametrize(
    ("agent", "below"), [("claude", False), ("gemini", False), ("codex", True), ("opencode", True)]
)
def test_who_starts_below_the_project_is_told_whether_its_hooks_are_read(
    project: Path, agent: str, below: bool
) -> None:
    (project / "src").mkdir()
    said = touchline(project / "src", "install", agent, "--yes").stderr
    assert ("only when it is started in" in said) is not below
    here, there = (touchline(folder, "status", agent).stdout for folder in (project, project / "src"))
    assert "not read by" not in here
    assert ("not read by" in there) is not below
    assert touchline(project, "install", agent, "--user", "--dry-run").stderr.count("One place is enough") == 1


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (lambda text: text.replace(sys.executable, "/gone/python"), "broken"),
        (lambda text: text.replace("{", '{"disableAllHooks": true,', 1), "off"),
    ],
)
def test_status_sees_why_hooks_would_not_run(project: Path, change: Callable[[str], str], result: str) -> None:
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    path = project / ".claude" / "settings.json"
    path.write_text(change(path.read_text()))
    done = touchline(project, "status", "claude", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["hooks"][0]["result"] == result


HERS = "../.claude/settings.json"
OFF: dict[str, tuple[str, dict[str, str], str]] = {
    "claude, for all projects": ("claude", {HERS: '{"disableAllHooks": true}'}, "off"),
    "claude, on again nearer": (
        "claude",
        {HERS: '{"disableAllHooks": true}', ".claude/settings.local.json": '{"disableAllHooks": false}'},
        "installed",
    ),
    "claude, no switch": ("claude", {HERS: '{"disableAllHooks": "true"}'}, "installed"),
    "gemini": ("gemini", {"../.gemini/settings.json": '// all\n{"hooksConfig": {"enabled": false}}'}, "off"),
    "gemini, by name": ("gemini", {"../.gemini/settings.json": '{"hooksConfig": {"disabled": ["touchline"]}}'}, "off"),
    "gemini, another's": ("gemini", {"../.gemini/settings.json": '{"hooksConfig": {"disabled": ["x"]}}'}, "installed"),
    "codex": ("codex", {"../.codex/config.toml": "[features]\nhooks = false\n"}, "off"),
    "codex, a project nobody trusts": ("codex", {".codex/config.toml": "[features]\nhooks = false\n"}, "installed"),
}


@pytest.mark.parametrize(("agent", "files", "result"), OFF.values(), ids=OFF)
def test_a_switch_in_any_of_the_agents_files_counts(
    project: Path, agent: str, files: dict[str, str], result: str
) -> None:
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    said = touchline(project, "install", agent, "--yes").stderr
    assert ("Installed, but" in said) is (result == "off")
    done = touchline(project, "status", agent, "--json")
    row = json.loads(done.stdout)["hooks"][0]
    assert (row["result"], done.returncode) == (result, 1 if result == "off" else 0)
    again = touchline(project, "install", agent, "--yes").stderr
    assert ("does not run them" in again) is (result == "off")


@pytest.mark.parametrize(("agent", "there"), [("codex", ".codex"), ("opencode", ".opencode"), ("claude", ".claude")])
def test_a_folder_that_was_there_stays(project: Path, agent: str, there: str) -> None:
    (project / there).mkdir()
    assert touchline(project, "install", agent, "--yes").returncode == 0
    assert touchline(project, "uninstall", agent, "--yes").returncode == 0
    assert list((project / there).iterdir()) == [], "and what was made in it is gone"


def test_a_folder_that_was_made_goes_only_while_nobody_uses_it(project: Path) -> None:
    touchline(project, "install", "opencode", "--yes")
    (project / ".opencode" / "notes.md").write_text("mine")
    touchline(project, "uninstall", "opencode", "--yes")
    assert [path.name for path in (project / ".opencode").iterdir()] == ["notes.md"]
    (project / ".opencode" / "notes.md").unlink()
    touchline(project, "install", "opencode", "--yes")
    touchline(project, "uninstall", "opencode", "--yes")
    assert (project / ".opencode").is_dir(), "it was somebody's in between"


def test_comments_stay_where_the_agent_reads_them(project: Path) -> None:
    path = project / ".gemini" / "settings.json"
    path.parent.mkdir()
    theirs = '// mine\n{\n  "a": "// no comment", /* , */ // "b": {\n  "c": [1 /* , */, 2] // last\n  /* end */\n}\n'
    path.write_text(theirs)
    assert touchline(project, "install", "gemini", "--yes").returncode == 0
    assert touchline(project, "status", "gemini").stdout.splitlines()[0].split()[2] == "installed"
    between = path.read_text()
    assert "// no comment" in between
    path.write_text(between.replace(',\n  "hooks"', ', // added\n  "hooks"'))
    assert touchline(project, "uninstall", "gemini", "--yes").returncode == 0
    assert path.read_text() == theirs.replace("2]", "2] // added\n  "), "also one that was added beside ours"


def test_a_command_that_is_no_hook_is_a_persons_own(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    theirs = '{"statusLine": {"command": "python3 /x/touchline/hooks/entry.py claude"}}'
    path.write_text(theirs)
    assert touchline(project, "install", "claude", "--yes").returncode == 0
    assert touchline(project, "uninstall", "claude", "--yes").returncode == 0
    assert path.read_text() == theirs


def test_a_linked_folder_stays(project: Path) -> None:
    kept = project.parent / "dotfiles"
    kept.mkdir()
    (project / ".claude").symlink_to(kept)
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    apply(plan_uninstall("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    assert list(kept.iterdir()) == []
    assert (project / ".claude").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write another's file and keep its owner")
def test_a_file_stays_its_owners(project: Path) -> None:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o600)
    os.chown(path, 12345, 12345)
    apply(plan_install("claude", "project", folder=project, env={"HOME": str(project.parent)}))
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12345, 12345, 0o600)


def test_status_tells_of_a_plug_in_too(project: Path) -> None:
    apply(plan_install("opencode", "project", folder=project, env={"HOME": str(project.parent)}))
    path = project / ".opencode" / "plugins" / "touchline.js"
    path.write_text(path.read_text().replace("entry.py", "else.py"))
    row = json.loads(touchline(project, "status", "opencode", "--json").stdout)["hooks"][0]
    assert (row["result"], "install again" in row["detail"]) == ("outdated", True)


def test_the_plug_in_starts_what_settings_start(project: Path) -> None:
    apply(plan_install("opencode", "project", folder=project, env={"HOME": str(project.parent)}))
    plug_in = (project / ".opencode" / "plugins" / "touchline.js").read_text()
    words = shlex.split(hook_command("opencode").removesuffix(" 2>/dev/null || true"))
    assert f"const COMMAND = {json.dumps(words)}\n" in plug_in
    assert words[1:5] == ["-I", "-S", "-X", "utf8"], "file names are UTF-8 whatever the locale"


def test_somebody_elses_plug_in_of_that_name_is_left(project: Path) -> None:
    path = project / ".opencode" / "plugins" / "touchline.js"
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = async () => ({})\n")
    assert touchline(project, "status", "opencode").returncode == 0, "what is not ours is not outdated"
    with pytest.raises(InputError, match="not Touchline's"):
        plan_install("opencode", "project", folder=project, env={"HOME": str(project.parent)})
    assert not plan_uninstall("opencode", "project", folder=project, env={"HOME": str(project.parent)}).needed


def test_the_command_ends_well_when_touchline_is_gone() -> None:
    gone = hook_command("claude").replace("/hooks/entry.py", "/hooks/gone.py")
    done = subprocess.run(["/bin/sh", "-c", gone], input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_agents_without_a_local_file_say_so(project: Path, agent: str) -> None:
    with pytest.raises(InputError, match="no local settings"):
        plan_install(agent, "local", folder=project, env={"HOME": str(project.parent)})


def test_an_unknown_agent_is_an_error_that_names_the_known(project: Path) -> None:
    done = touchline(project, "install", "cursor", "--yes")
    assert done.returncode == 2
    assert "claude, codex, gemini, opencode" in done.stderr
