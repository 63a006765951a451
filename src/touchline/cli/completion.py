"""How does a shell learn to complete commands and options? Lines for bash, zsh or fish: printed, or put where it reads.

A person's start file gets at most one line at its end. It is never written anew: a full disk must not take it away.
"""

from __future__ import annotations

import os
from pathlib import Path

from touchline.cli.app import COMPLETING
from touchline.cli.terminal import say
from touchline.errors import InputError

SHELLS = ("bash", "zsh", "fish")
_ZSH_KNOWS = "compdef _touchline_completion touchline"
_ZSH_ASKS = f"""\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _touchline_completion "$@"
else
  {_ZSH_KNOWS}
fi"""
"""zsh loads the file at the first Tab, and wants an answer from it then; else that Tab would do nothing."""


def show(words: list[str]) -> None:
    """Print the lines for the shell that is named, else for the one that this was started from."""
    print(_lines(_shell(words)))


def install(words: list[str]) -> None:
    """Put them where the shell finds them when it starts."""
    shell = _shell(words)
    file, start, line = _places(shell, Path.home())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{_lines(shell)}\n", encoding="utf-8")
    if start is not None:
        _add(line, start)
    say(f"Written: {file}\n{shell} completes from its next start on.")


def _places(shell: str, home: Path) -> tuple[Path, Path | None, str]:
    """The file with the lines; and the start file with the line that makes the shell read it, where one is needed."""
    if shell == "bash":
        file = home / ".bash_completions" / "touchline.sh"
        return file, home / ".bashrc", f"source '{file}'"
    if shell == "zsh":
        start = Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
        return home / ".zfunc" / "_touchline", start, "fpath+=~/.zfunc; autoload -Uz compinit; compinit"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish" / "completions" / "touchline.fish", None, ""


def _add(line: str, start: Path) -> None:
    there = start.read_text(encoding="utf-8", errors="replace") if start.exists() else ""
    if line not in there.splitlines():
        with start.open("a", encoding="utf-8") as file:
            file.write(f"{'' if there.endswith(chr(10)) or not there else chr(10)}{line}\n")


def _lines(shell: str) -> str:
    from typer._completion_shared import get_completion_script

    lines = get_completion_script(prog_name="touchline", complete_var=COMPLETING, shell=shell)
    return lines.replace(_ZSH_KNOWS, _ZSH_ASKS)


def _shell(words: list[str]) -> str:
    known = ", ".join(SHELLS)
    hint = "Name one: touchline --install-completion bash"
    if len(words) > 1:
        raise InputError(f"One shell is named at a time: {known}; not {' '.join(words)!r}.", hint=hint)
    shell = words[0] if words else _started_from()
    if not shell:
        raise InputError(f"Which shell is it? None of {known} was found to have started this.", hint=hint)
    if shell not in SHELLS:
        raise InputError(f"There is no completion for the shell {shell!r}, only for {known}.", hint=hint)
    return shell


def _started_from() -> str:
    from typer._completion_shared import _get_shell_name

    try:
        return _get_shell_name() or ""
    except OSError:  # it looks at the processes, and may not
        return ""
