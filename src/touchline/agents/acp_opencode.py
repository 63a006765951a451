"""How is OpenCode set up to work alone? (`opencode acp`)

By configuration handed over in its environment, which goes over the user's own files and changes none of them. Setting
(`Request.settings`): `config`, what an opencode.json would hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline.agents.acp_setup import Preset, Setting
from touchline.agents.port import Abilities, PrivateHome, Request
from touchline.errors import SettingsError

CONFIG = "OPENCODE_CONFIG_CONTENT"
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
}
LOOKING = ("read", "glob", "grep", "list", "lsp", "skill", "todoread", "todowrite")
HOMES = {
    "XDG_DATA_HOME": ".local/share",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


def set_up(request: Request, env: Mapping[str, str]) -> Setting:
    """The user's configuration, the quiet one over it, then what the request's own settings say."""
    config = {
        **_parsed(env.get(CONFIG, "")),
        "autoupdate": False,
        "share": "disabled",
        "permission": permission(request),
        **_mapping(request.settings.get("config", {})),
    }
    env_out = {**QUIET, CONFIG: json.dumps(config)}
    homes = {name: Path(env.get(name) or Path(env.get("HOME") or "/") / usual) for name, usual in HOMES.items()}
    if request.home is not None:
        homes = {name: request.home / usual for name, usual in HOMES.items()}
    env_out |= {name: str(folder) for name, folder in homes.items()}
    folders = {name: folder / "opencode" for name, folder in homes.items()}
    if request.home is not None:
        return Setting(env=env_out, keeps=tuple(folders.values()))
    return Setting(env=env_out, homes=() if request.keep is None else _private(request.keep, folders))


def _private(keep: Path, folders: Mapping[str, Path]) -> tuple[PrivateHome, ...]:
    """Of the data only the logins are the user's: besides the sessions there are programs, and git folders in which
    OpenCode runs git."""
    return (
        PrivateHome(
            usual=folders["XDG_DATA_HOME"],
            private=keep / "data",
            own=("*",),
            copied=("mcp-auth.json",),
            tokens="auth.json",
        ),
        PrivateHome(usual=folders["XDG_CONFIG_HOME"], private=keep / "config"),
        PrivateHome(usual=folders["XDG_STATE_HOME"], private=keep / "state", own=("*",), copied=("*.json",)),
        PrivateHome(usual=folders["XDG_CACHE_HOME"], private=keep / "cache", copied=("version", "models*.json")),
    )


def permission(request: Request) -> dict[str, Any]:
    """What OpenCode may do. It is to ask nothing: a refused question ends its turn, while of what is denied the model
    is told, or it is not even offered the tool.
    """
    folders: dict[str, str] = {}
    for folder in request.folders:
        folders |= {str(folder): "allow", f"{folder}/*": "allow"}
    if request.read_only:
        looking = dict.fromkeys(LOOKING, "allow")
        return {"*": "deny", **looking, "external_directory": {"*": "deny", **folders}}
    outside = "allow" if request.confined else "deny"
    # Its own question at a repeated call is not wanted: that is what Touchline watches for.
    return {"*": "allow", "doom_loop": "allow", "external_directory": {"*": outside, **folders}}


def _parsed(words: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(words) if words.strip() else {})
    except ValueError:
        raise SettingsError(f"{CONFIG} is not JSON.", hint=f"Correct or unset {CONFIG}.") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"OpenCode's configuration is an object; given was {value!r}.", hint="See opencode.ai/docs/config."
        )
    return value


OPENCODE = Preset(
    name="opencode",
    command=("opencode", "acp"),
    abilities=Abilities(resume=True, speak=True, interrupt=True, read_only=True, cost=True),
    advice="Install OpenCode: npm install -g opencode-ai, then run `opencode auth login`.",
    set_up=set_up,
    settings=("config",),
    work_mode="build",
    read_only_mode="plan",
)
