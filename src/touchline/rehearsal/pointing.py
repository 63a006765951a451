"""How is a CLI pointed at the rehearsal server? Environment and settings files, all below one home folder.

No flag is needed, so any command line of the CLI works. Updates and telemetry are off, and retries are few: by default
some CLIs try for minutes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Cli = Literal["claude", "codex", "opencode", "gemini"]
CLIS: tuple[Cli, ...] = get_args(Cli)

KEY = "no-key-is-needed"
"""Stands for an API key; the server asks for none. Not a word of any script: keys are redacted wherever they appear."""
CODEX_KEY = "CODEX_API_KEY"
"""A variable of Codex's own: a supervisor that starts it hands on no others."""
MODELS: Mapping[Cli, str] = {
    "claude": "claude-sonnet-4-5",
    "codex": "gpt-5.5",
    "opencode": "rehearsal/scripted",
    "gemini": "gemini-2.5-pro",
}
"""What each CLI is told to ask for. Codex: one that calls tools; newer ones answer with programs."""
OWN_VARIABLES = (
    *("ANTHROPIC_", "CLAUDE", "CODEX_", "OPENAI_", "OPENCODE", "GEMINI_", "GOOGLE_", "AWS_", "AZURE_"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)
"""Beginnings of variables that would lead a CLI elsewhere, or show it a real key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointing:
    """What makes a CLI talk to the server."""

    env: Mapping[str, str]
    files: Mapping[Path, str]
    """Settings to be written before it starts."""

    def write(self) -> None:
        for path, text in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def without_leads(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what would lead a CLI elsewhere."""
    return {name: value for name, value in env.items() if not name.startswith(OWN_VARIABLES)}


def point(cli: Cli, url: str, home: Path) -> Pointing:
    """How to make a CLI ask the server at `url` (`RehearsalServer.url`), with all it keeps below `home`."""
    match cli:
        case "claude":
            env, files = _claude(url, home)
        case "codex":
            env, files = _codex(url, home)
        case "opencode":
            env, files = _opencode(url, home)
        case "gemini":
            env, files = _gemini(url, home)
    own = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "NO_PROXY": "127.0.0.1,localhost",
    }
    return Pointing(env={**own, **env}, files=files)


def point_all(url: str, home: Path) -> Pointing:
    """The same for every CLI at once, for a command of which it is not known what it starts."""
    each = [point(cli, url, home) for cli in CLIS]
    env = {name: value for pointing in each for name, value in pointing.env.items()}
    return Pointing(env=env, files={path: text for pointing in each for path, text in pointing.files.items()})


def _claude(url: str, home: Path) -> tuple[dict[str, str], dict[Path, str]]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_MODEL": MODELS["claude"],
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        # Root may skip the permission questions only where this says that it is confined anyway.
        "IS_SANDBOX": "1",
    }, {}


def _codex(url: str, home: Path) -> tuple[dict[str, str], dict[Path, str]]:
    folder = home / ".codex"
    settings = f"""\
model = "{MODELS["codex"]}"
model_provider = "rehearsal"
check_for_update_on_startup = false

[model_providers.rehearsal]
name = "rehearsal"
base_url = "{url}/v1"
env_key = "{CODEX_KEY}"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2

[analytics]
enabled = false

[features]
plugins = false
apps = false
remote_plugin = false
plugin_discovery_prefetch = false
api_key_model_discovery = false
"""
    return {"CODEX_HOME": str(folder), CODEX_KEY: KEY}, {folder / "config.toml": settings}


def _opencode(url: str, home: Path) -> tuple[dict[str, str], dict[Path, str]]:
    """Its catalogue of everybody's models is empty: to read the one it brings takes a quarter of each start."""
    model = {
        "name": "Scripted",
        "tool_call": True,
        "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75},
        "limit": {"context": 200_000, "output": 32_000},
    }
    settings = {
        "provider": {
            "rehearsal": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
                "models": {"scripted": model},
            }
        },
        "model": MODELS["opencode"],
        "small_model": MODELS["opencode"],
        "enabled_providers": ["rehearsal"],
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }, {**_nothing_to_install(home / ".config" / "opencode"), home / ".cache" / "opencode" / "models.json": "{}"}


def _nothing_to_install(folder: Path) -> dict[Path, str]:
    """At each start OpenCode fetches its library for plug-ins from the package registry, unless it looks installed."""
    installed = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    return {folder / "package-lock.json": json.dumps(installed), folder / "node_modules" / ".keep": ""}


def _gemini(url: str, home: Path) -> tuple[dict[str, str], dict[Path, str]]:
    settings = {
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False, "maxAttempts": 2},
        "model": {"name": MODELS["gemini"]},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "telemetry": {"enabled": False},
    }
    return {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_MODEL": MODELS["gemini"],
        # One process instead of a launcher and its child, which would not pass signals on.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }, {home / ".gemini" / "settings.json": json.dumps(settings, indent=2)}
