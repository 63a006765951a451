"""Where does each agent look for hooks, and what is put there? Data about agents; `install` reads and writes files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from touchline.hooks.dialects import EVENTS
from touchline.supervision.values import Value

Level = Literal["project", "local", "user"]

TIMEOUT = 15
"""Seconds an agent waits for a hook before it goes on by itself; the hook gives up sooner."""


class Home(Value):
    """An agent's settings files, as far as hooks go."""

    agent: str
    title: str
    project: str
    """The file in a project."""
    local: str | None
    """The file in a project that is not shared with others."""
    user: str
    """The file under the person's own folder for this agent."""
    user_variable: str
    """The variable that moves that folder."""
    user_folder: str
    """That folder, seen from the home folder, where nothing moves it."""
    below: bool = True
    """Whether a project's file is also read when the agent is started in a folder below it."""
    comments: bool = False
    """Whether its settings may hold comments, as JSON itself may not."""
    advice: str = ""
    """What a person has to do besides."""


HOMES: Mapping[str, Home] = {
    "claude": Home(
        agent="claude",
        title="Claude Code",
        project=".claude/settings.json",
        local=".claude/settings.local.json",
        user="settings.json",
        user_variable="CLAUDE_CONFIG_DIR",
        user_folder=".claude",
        below=False,
    ),
    "codex": Home(
        agent="codex",
        title="Codex",
        project=".codex/hooks.json",
        local=None,
        user="hooks.json",
        user_variable="CODEX_HOME",
        user_folder=".codex",
        advice="Codex runs a new hook only after you trusted it: start codex and look at /hooks.",
    ),
    "gemini": Home(
        agent="gemini",
        title="Gemini CLI",
        project=".gemini/settings.json",
        local=None,
        user=".gemini/settings.json",
        user_variable="GEMINI_CLI_HOME",
        user_folder="",
        below=False,
        comments=True,
        advice="Gemini CLI runs a project's hooks only in a folder that you trust, and warns of new ones.",
    ),
    "opencode": Home(
        agent="opencode",
        title="OpenCode",
        project=".opencode/plugins/touchline.js",
        local=None,
        user="opencode/plugins/touchline.js",
        user_variable="XDG_CONFIG_HOME",
        user_folder=".config",
    ),
}


def settings_file(home: Home, level: Level, *, folder: Path, env: Mapping[str, str]) -> Path | None:
    """The file of that level; None where the agent has no such level."""
    if level == "user":
        given = env.get(home.user_variable, "")
        return (Path(given) if given else Path(env.get("HOME") or Path.home()) / home.user_folder) / home.user
    named = home.project if level == "project" else home.local
    return None if named is None else folder / named


def hook_words(agent: str) -> list[str]:
    """The program of a hook and its arguments.

    UTF-8 is what agents write and name files in, whatever the locale; said here, the interpreter need not ask the
    locale, which is a twentieth of its start.
    """
    return [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).with_name("entry.py")), agent]


def hook_command(agent: str) -> str:
    """The shell command of a hook.

    It ends well whatever happens: agents take some exit codes of a hook for an order to stop, and Python leaves with
    one of these when Touchline has been removed.
    """
    return f"{shlex.join(hook_words(agent))} 2>/dev/null || true"


def hooks_of(agent: str) -> dict[str, Mapping[str, Any]]:
    """What is put at each event of an agent."""
    seconds = TIMEOUT * 1000 if agent == "gemini" else TIMEOUT
    hook = {"type": "command", "command": hook_command(agent), "timeout": seconds}
    if agent == "gemini":
        hook = {"name": "touchline", **hook}
    return dict.fromkeys(EVENTS[agent], hook)


def programs_of(command: str) -> list[str]:
    """The files that an installed command needs, to see whether they are still there: the interpreter, our program."""
    entry = entry_of(command)
    if entry is None:
        return [command]
    interpreter = shlex.split(command)[0]
    return [interpreter, entry] if os.path.isabs(interpreter) else [entry]


def entry_of(command: str) -> str | None:
    """Our program, as an installed command names it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return next((word for word in words if word.endswith(f"hooks{os.sep}entry.py")), None)
