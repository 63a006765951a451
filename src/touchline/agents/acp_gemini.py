"""How is Gemini CLI set up to work alone? (`gemini --acp`)

By flags, its environment, and its settings file where Touchline gives it a home of its own. It asks before it writes or
runs something: only in the question does it show what it is about to write. The questions are answered at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from touchline.agents.acp_setup import Preset, Setting
from touchline.agents.port import Abilities, PrivateHome, Request
from touchline.errors import SettingsError
from touchline.transcripts.shapes import mapping

QUIET = {
    # Else it starts itself a second time, and the process that we know only waits.
    "GEMINI_CLI_NO_RELAUNCH": "true",
    # Without a terminal of its own a command's output is text; else no output comes at all.
    "GEMINI_PTY_INFO": "child_process",
    "GEMINI_TELEMETRY_ENABLED": "false",
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
KEPT = "-kept.jsonl"
WRITTEN = ("tmp", "history", "projects.json*", "*.lock", "*.tmp")
"""What Gemini CLI writes down in its home as it works; below `tmp` are also programs that it fetched."""
LOGINS = (
    "oauth_creds.json",
    "google_accounts.json",
    "*credentials*.json",
    "*tokens*.json",
    "installation_id",
    "state.json",
)
"""A renewed login is valid beside the old one."""


def set_up(request: Request, env: Mapping[str, str]) -> Setting:
    """Flags and environment, the settings of a home of its own, and the session's file where it is safe."""
    flags = ["--skip-trust", "--approval-mode", "plan" if request.read_only else "default"]
    if request.model:
        flags += ["--model", request.model]
    for folder in request.folders:
        flags += ["--include-directories", str(folder)]
    home = request.home or Path(env.get("GEMINI_CLI_HOME") or env.get("HOME") or "/")
    if request.home is not None:
        _write_settings(home / ".gemini" / "settings.json", with_key=bool(env.get("GEMINI_API_KEY")))
    private = request.keep / "gemini" if request.keep is not None and request.home is None else None
    for place in (home / ".gemini", private):
        if request.session and place is not None:
            keep_session(place, request.session)
    return Setting(
        flags=tuple(flags),
        env={**QUIET, "GEMINI_CLI_HOME": str(home)},
        keeps=() if request.home is None else (home / ".gemini",),
        homes=()
        if private is None
        else (PrivateHome(usual=home / ".gemini", private=private, own=WRITTEN, copied=LOGINS),),
    )


def keep_session(folder: Path, session: str) -> None:
    """Rename the file of a session that is about to be loaded.

    Gemini CLI 0.61 opens a file for the loaded session before it reads it, named by the minute and the id's first eight
    characters. In the minute in which the session began that is the session's own file, and the session is lost.
    """
    if not re.fullmatch(r"[\w-]{8,}", session):
        return
    for file in folder.glob(f"tmp/*/chats/session-*-{session[:8]}.jsonl"):
        kept = file.with_name(file.name.removesuffix(".jsonl") + KEPT)
        with suppress(OSError, ValueError):
            if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
                continue  # left by an agent, to be opened or renamed by us
            with file.open(encoding="utf-8") as lines:
                first = mapping(json.loads(lines.readline()))
            if first.get("sessionId") == session and not kept.exists():
                file.rename(kept)


def _write_settings(file: Path, *, with_key: bool) -> None:
    """What is there stays; what is missing is added.

    With a key and no choice of a login made, a new session begins but an old one cannot be loaded.
    """
    wanted: dict[str, Mapping[str, Any]] = dict(SETTINGS)
    if with_key:
        wanted["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    try:
        before = json.loads(file.read_text("utf-8")) if file.exists() else {}
        if not isinstance(before, dict):
            raise ValueError("it is no object")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"Gemini CLI's settings {file} cannot be read: {error}.", hint="Correct or remove it."
        ) from error
    after = {**before, **{name: {**table, **mapping(before.get(name))} for name, table in wanted.items()}}
    if after != before:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(after, indent=2), "utf-8")


GEMINI = Preset(
    name="gemini",
    command=("gemini", "--acp"),
    # Not interrupted: 0.61 takes back all that was said and done since the prompt, and a session that has nothing left
    # cannot be loaded. Ended from outside it keeps what it has.
    abilities=Abilities(resume=True, read_only=True),
    leaves=False,
    advice="Install Gemini CLI: npm install -g @google/gemini-cli, then run `gemini` once to log in.",
    set_up=set_up,
    auth_method="gemini-api-key",
    sets_model=False,
)
