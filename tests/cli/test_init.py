"""`touchline init`: what it finds, what it writes, and what it leaves alone."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.cli.people import Person, person_at
from tests.cli.test_doctor import program

from touchline.settings.loading import find_settings


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return person_at(tmp_path)


def programs(person: Person, *names: str) -> str:
    """A PATH with git and these programs of ours before the system's."""
    folder = person.home / "bin"
    folder.mkdir(exist_ok=True)
    for name in names:
        program(folder, name, f'echo "2.1.325 ({name})"')
    return f"{folder}:/usr/bin:/bin"


def test_it_finds_agents_commands_and_sandbox_and_writes_a_file_that_is_read(person: Person) -> None:
    (person.root / "Makefile").write_text("test:\n\ttrue\nlint:\n\ttrue\n")
    below = Person(home=person.home, root=person.root / "src")
    below.root.mkdir()
    told = below.told("init", "--yes", PATH=programs(person, "claude"))
    assert (told["schema"], told["written"], told["root"]) == ("touchline.init/1", True, str(person.root))
    agents = {each["name"]: each for each in told["agents"]}
    assert agents["claude"]["starts"] is True
    assert agents["claude"]["version"] == "2.1.325"
    assert {(each["kind"], each["command"]) for each in told["checks"]} >= {
        ("unit", "make test"),
        ("lint", "make lint"),
    }
    assert set(told["sandbox"]) == {"bubblewrap", "why_not", "hint"}
    assert told["text"] == person.file.read_text()
    # Who had it written has seen it: it holds at once.
    found = find_settings({}, person.env, person.root, person.home)
    assert found.settings.run.check == "make test"
    assert found.ignored == {}


def test_where_no_check_can_be_confined_it_is_only_offered(person: Person) -> None:
    """The next command that it names must work."""
    (person.root / "Makefile").write_text("test:\n\ttrue\n")
    path = programs(person, "claude")
    program(person.home / "bin", "bwrap", "exit 1")
    told = person.told("init", "--yes", PATH=path)
    assert told["sandbox"]["bubblewrap"] is False
    assert "# It needs bubblewrap" in told["text"]
    assert '\n# check = "make test"\n' in told["text"]
    assert find_settings({}, person.env, person.root, person.home).settings.run.check == ""


def test_every_line_that_is_commented_out_can_be_used(person: Person) -> None:
    (person.root / "Makefile").write_text("test:\n\ttrue\nbuild:\n\ttrue\n")
    person.run("init", "--yes", PATH=programs(person, "claude"))
    text = person.file.read_text()
    used = re.sub(r"^# (\[[\w.]+\]|[a-z_]+ = .*)$", r"\1", text, flags=re.MULTILINE)
    assert used != text
    person.file.write_text(used)
    values = tomllib.loads(used)
    assert {"agent", "sandbox", "check"} <= set(values["run"])
    assert find_settings({}, person.env, person.root, person.home).project is not None


def test_the_text_shows_the_file_and_the_next_command(person: Person) -> None:
    done = person.run("init", "--dry-run", PATH=programs(person, "claude"))
    assert "[run]" in done.stdout
    assert not person.file.exists()
    nothing = person.run("init", "--dry-run", PATH="/usr/bin:/bin")
    if "none is on the PATH" in nothing.stdout:
        assert "Next: touchline doctor" in nothing.stderr


def test_the_next_command_works_in_a_repository_without_a_commit_too(person: Person) -> None:
    path = programs(person, "claude")
    program(person.home / "bin", "bwrap", "exit 0")
    (person.root / "a.py").write_text("a = 1\n")
    told = person.told("init", "--yes", PATH=path)["next"]
    commit, _, run = told.partition("   (agents work in a clone of it); then: ")
    assert run.startswith("touchline run "), told
    refused = person.run("run", "x", "--agent", "scripted", "--script", person.home / "none.yaml", code=2)
    assert "no commit yet" in refused.stderr
    who = {f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["/bin/sh", "-c", commit], check=True, cwd=person.root, env={**person.env, **who}, capture_output=True
    )
    again = person.run("run", "x", "--agent", "scripted", "--script", person.home / "none.yaml", code=2)
    assert "no commit yet" not in again.stderr
    assert person.told("init", "--dry-run", PATH=path)["next"] == run


def test_an_agent_that_does_not_start_and_one_that_misbehaves_are_told(person: Person) -> None:
    folder = person.home / "bin"
    program(folder, "claude", "exit 3")
    program(folder, "opencode", "echo 1.18.0")
    told = person.told("init", "--dry-run", PATH=f"{folder}:/usr/bin:/bin")
    agents = {each["name"]: each for each in told["agents"]}
    assert agents["claude"]["starts"] is False
    assert "Compacts for ever" in agents["opencode"]["warning"]
    assert "may not start" in person.run("init", "--dry-run", PATH=f"{folder}:/usr/bin:/bin").stdout


def test_a_file_that_is_there_stays(person: Person) -> None:
    person.file.write_text("# mine\n")
    assert "is there already" in person.run("init", "--yes", code=2).stderr
    assert person.file.read_text() == "# mine\n"
    person.run("init", "--yes", "--force")
    assert "[run]" in person.file.read_text()


def test_a_link_is_not_followed(person: Person, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("not ours")
    person.file.symlink_to(tmp_path / "elsewhere")
    assert person.run("init", "--yes", code=2).stderr
    assert "is a link" in person.run("init", "--yes", "--force", code=2).stderr
    assert (tmp_path / "elsewhere").read_text() == "not ours"


def test_outside_of_a_repository_it_says_what_to_do(person: Person, tmp_path: Path) -> None:
    told = Person(home=person.home, root=tmp_path).run("init", "--yes", code=2)
    assert "is in no git repository" in told.stderr
    assert "git init" in told.stderr


@pytest.mark.parametrize("below", [".", "hooks"])
def test_in_a_bare_repository_it_says_that_it_is_one(person: Person, tmp_path: Path, below: str) -> None:
    bare = tmp_path / "store.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    (bare / "hooks").mkdir(exist_ok=True)
    told = Person(home=person.home, root=bare / below).run("init", "--yes", code=2).stderr
    assert f"{bare} is a bare git repository" in told
    assert f"git clone {bare}" in told
    assert "git init" not in told
    assert not (bare / "touchline.toml").exists()


def test_nobody_is_asked_without_a_terminal(person: Person) -> None:
    done = person.run("init", code=2)
    assert "--yes" in done.stderr
    assert not person.file.exists()
    code, shown = person.at_terminal("init", answer="n\n")
    assert (code, person.file.exists()) == (1, False), shown
    code, shown = person.at_terminal("init", answer="y\n")
    assert (code, person.file.exists()) == (0, True), shown


@pytest.mark.skipif(os.geteuid() != 0, reason="as somebody else: needs root")
def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    """Root may write anywhere, so somebody else tries."""
    from touchline.cli.init_actions import _require_writable
    from touchline.errors import InputError

    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            _require_writable(folder / "touchline.toml", force=False)
        except InputError as error:
            os.write(writer, error.message.encode())
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    said = os.read(reader, 1000).decode()
    os.close(reader)
    assert said.endswith("may not be written.")
    _require_writable(tmp_path / "touchline.toml", force=False)


def test_a_state_folder_that_cannot_be_written_is_told_and_the_file_is_there(person: Person) -> None:
    (person.root / "Makefile").write_text("test:\n\ttrue\n")
    (person.home / "state").write_text("in the way")
    done = person.run("init", "--yes")
    assert "this is not used: run.check" in done.stderr
    assert person.file.exists()


def test_a_bare_worktree_and_a_submodule_have_a_root_too(person: Person) -> None:
    """There `.git` is a file."""
    who = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    git = ["git", "-C", str(person.root)]
    subprocess.run([*git, *who, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(person.home / "tree")], check=True, capture_output=True)
    tree = Person(home=person.home, root=person.home / "tree")
    assert tree.told("init", "--yes")["root"] == str(tree.root)
    assert stat.S_IMODE(tree.file.stat().st_mode) & 0o200
