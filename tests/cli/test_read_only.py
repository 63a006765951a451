"""Faults of the machine: nothing may be written, the folder is gone, there is no home. A sentence says what to do."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.agents.confined import needs_bubblewrap
from tests.cli.command import environment

from touchline.cli.machine_faults import told

pytestmark = pytest.mark.timeout(100)
COMMANDS = [
    "config show",
    "db upgrade",
    "demo --audit",
    "events list",
    "hook status",
    "init --yes",
    "sessions list",
    "worker",
]


def inside(*how: str, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    needs_bubblewrap()
    start = ["bwrap", *how, "--dev", "/dev", "--proc", "/proc", sys.executable, "-m", "touchline", *line.split()]
    return subprocess.run(
        start, capture_output=True, text=True, check=False, env=environment(**env), stdin=subprocess.DEVNULL
    )


def read_only(line: str, **env: str) -> subprocess.CompletedProcess[str]:
    return inside("--ro-bind", "/", "/", line=line, **env)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("doctor", {0, 1}, "TMPDIR"),
        ("demo", {2}, "TMPDIR"),
        ("demo --keep {home}/kept", {2}, "--keep: {home}/kept cannot be made (Read-only file system)."),
        ("demo --keep /proc/x", {2}, "--keep: /proc/x cannot be made (No such file or directory)."),
        ("hook install claude --yes", {2}, "Nothing was changed."),
        ("--install-completion bash", {2}, "{home}/.bash_completions cannot be used (Read-only file system)."),
        ("--install-completion fish", {2}, "{home}/.config/fish cannot be used (Read-only file system)."),
    ],
)
def test_where_nothing_may_be_written_it_is_told_in_a_sentence(
    line: str, code: set[int], words: str, tmp_path: Path
) -> None:
    (tmp_path / ".config").mkdir()
    done = read_only(line.format(home=tmp_path), HOME=str(tmp_path), XDG_CONFIG_HOME="")
    assert done.returncode in code, done.stderr
    assert words.format(home=tmp_path) in f"{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", COMMANDS)
def test_where_nothing_may_be_written_no_command_calls_it_a_fault_of_touchline(line: str, tmp_path: Path) -> None:
    done = read_only(line, HOME=str(tmp_path), TOUCHLINE_DATABASE_URL=f"sqlite:///{tmp_path / 'no' / 'app.db'}")
    assert done.returncode in (0, 2, 3), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", [*COMMANDS, "doctor", "run x", "spec show", "build status", "config trust"])
def test_a_current_folder_that_is_gone_is_told(line: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'rmdir "$PWD" && exec {sys.executable} -m touchline {line}'
    env = environment(HOME=str(tmp_path), TOUCHLINE_DATABASE_URL="")
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, env=env, cwd=gone)
    assert done.returncode == 2, done.stderr
    if "--audit" in line:
        assert "--out: out cannot be made" in done.stderr
    else:
        assert done.stderr == ("touchline: the current folder is not there any more.\nChange into another one: cd\n"), (
            done.stderr
        )


@pytest.mark.parametrize("line", ["config show", "doctor", "--install-completion bash"])
def test_a_user_without_a_home_is_told_how_to_name_one(line: str) -> None:
    """As in a container whose user has a number and no name."""
    done = inside("--ro-bind", "/", "/", "--unshare-user", "--uid", "54321", "--unsetenv", "HOME", line=line)
    assert (done.returncode, done.stderr) == (
        2,
        "touchline: no home folder is known for this user.\nName one: export HOME=/some/folder\n",
    )


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR])
def test_a_fault_at_a_path_names_it(number: int) -> None:
    said = told(OSError(number, os.strerror(number), "/a/b"))
    assert said is not None
    assert said.words == f"/a/b cannot be used ({os.strerror(number)})."
    assert said.hint


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/usr/lib/touchline/prompts/forgotten.md"),
        OSError(errno.ENOSPC, "No space left on device"),  # the output, which has an exit code of its own
        OSError(errno.EBADF, "Bad file descriptor"),
        RuntimeError("dictionary changed size during iteration"),
    ],
)
def test_what_may_be_our_own_mistake_stays_one(error: OSError | RuntimeError) -> None:
    assert told(error) is None
