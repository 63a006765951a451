"""The shell completes commands, options and keys; in a real bash, zsh and fish, with the lines that Touchline gives."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.command import environment, touchline


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("touchline config e", ["explain"]),
        ("touchline config explain hooks.", ["hooks.cap"]),
        ("touchline config show --or", ["--origin"]),
        ("touchline ini", ["init"]),
        ("touchline hook install c", ["claude", "codex"]),
        ("touchline init --for", ["--force"]),
    ],
)
def test_bash_is_told_what_may_come_next(line: str, offered: list[str]) -> None:
    told = touchline(_TOUCHLINE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(line.split()) - 1))
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == offered


@pytest.mark.parametrize(("shell", "line"), [("zsh", "compdef"), ("fish", "complete --command touchline")])
def test_other_shells_get_their_lines(shell: str, line: str) -> None:
    told = touchline(_TOUCHLINE_COMPLETE=f"source_{shell}")
    assert (told.returncode, line in told.stdout) == (0, True), told.stdout


LINES = {"bash": "complete -o default -F", "zsh": "#compdef touchline", "fish": "complete --command touchline"}
PLACES = {
    "bash": ".bash_completions/touchline.sh",
    "zsh": ".zfunc/_touchline",
    "fish": ".config/fish/completions/touchline.fish",
}
STARTS = {"bash": ".bashrc", "zsh": ".zshrc"}


@pytest.mark.parametrize("shell", LINES)
def test_the_shell_that_is_named_gets_its_lines(shell: str, tmp_path: Path) -> None:
    told = touchline("--show-completion", shell)
    assert (told.returncode, told.stderr) == (0, "")
    assert LINES[shell] in told.stdout
    if shell == "zsh":
        assert told.stdout.startswith(LINES["zsh"]), "zsh looks at the first line alone"
    (tmp_path / "lines").write_text(told.stdout)
    if program := shutil.which(shell):
        subprocess.run([program, "-n", str(tmp_path / "lines")], check=True)


@pytest.mark.parametrize("shell", LINES)
def test_they_are_installed_where_that_shell_reads_them(shell: str, tmp_path: Path) -> None:
    start = tmp_path / STARTS.get(shell, ".bashrc")
    start.write_text("# mine")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "ZDOTDIR": ""}
    first = touchline("--install-completion", shell, **home)
    assert (first.returncode, first.stdout) == (0, ""), first.stderr
    assert first.stderr.startswith(f"Written: {tmp_path / PLACES[shell]}\n")
    assert (tmp_path / PLACES[shell]).read_text() == touchline("--show-completion", shell).stdout
    assert touchline("--install-completion", shell, **home).returncode == 0
    mine, *more = start.read_text().splitlines()
    assert (mine, len(more)) == ("# mine", int(shell in STARTS)), "one line more at most, however often"
    others = [PLACES[each] for each in PLACES if each != shell]
    assert [each for each in others if (tmp_path / each).exists()] == []


def test_a_bash_that_was_installed_for_completes(tmp_path: Path) -> None:
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed")
    assert touchline("--install-completion", "bash", HOME=str(tmp_path)).returncode == 0
    done = subprocess.run(
        [bash, "-c", ". ~/.bashrc && complete -p touchline"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(HOME=str(tmp_path)),
    )
    assert done.stdout == "complete -o default -F _touchline_completion touchline\n", done.stderr


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
@pytest.mark.parametrize("shell", [["tcsh"], ["BASH"], ["--json"], ["bash", "zsh"], [""]])
def test_another_shell_is_refused(option: str, shell: list[str], tmp_path: Path) -> None:
    told = touchline(option, *shell, HOME=str(tmp_path))
    assert (told.returncode, told.stdout) == (2, "")
    assert "bash, zsh, fish" in told.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_real_bash_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    _program(tmp_path)
    lines = touchline(_TOUCHLINE_COMPLETE="source_bash").stdout
    assert "complete " in lines
    script = (
        f"{lines}\nCOMP_WORDS=(touchline config ex)\nCOMP_CWORD=2\n"
        "function=$(complete -p touchline | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n"
        '"$function" touchline ex config\necho "offered: ${COMPREPLY[*]}"\n'
    )
    env = environment(PATH=f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False, env=env)
    assert "offered: explain" in done.stdout, done.stderr


def _program(folder: Path) -> None:
    program = folder / "touchline"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m touchline "$@"\n')
    program.chmod(0o755)


def _installed(shell: str, folder: Path) -> tuple[str, dict[str, str]]:
    """The shell, and variables for it: a home where the completion was installed, and `touchline` on its path."""
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed")
    _program(folder)
    home = {
        "HOME": str(folder),
        "XDG_CONFIG_HOME": "",
        "ZDOTDIR": "",
        "TERM": "dumb",
        "PATH": f"{folder}:/usr/bin:/bin",
    }
    assert touchline("--install-completion", shell, **home).returncode == 0
    return found, environment(**{name: value for name, value in home.items() if value})


def test_a_real_fish_completes(tmp_path: Path) -> None:
    fish, env = _installed("fish", tmp_path)
    command = [fish, "-c", 'complete -C "touchline config ex"; complete -C "touchline hook install c"']
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["explain", "claude", "codex"], done.stderr


def test_a_real_zsh_completes_at_the_first_tab(tmp_path: Path) -> None:
    zsh, env = _installed("zsh", tmp_path)
    with (tmp_path / ".zshrc").open("a") as start:
        start.write("PS1='ready> '\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [zsh, "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    ) as run:
        os.close(theirs)
        try:
            assert "ready" in _until(ours, "ready> ")
            os.write(ours, b"touchline config ex\t")
            assert "explain" in _until(ours, "explain")
        finally:
            run.kill()
            os.close(ours)


def _until(terminal: int, words: str) -> str:
    """What the terminal shows, up to these words or for half a minute."""
    shown, end = "", time.monotonic() + 30
    while words not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4_096).decode(errors="replace")
    return shown
