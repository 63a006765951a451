"""How is Claude Code found and started? `--print` with `stream-json` in both directions.

Settings (`Request.settings`): `env`, more variables for the process; `max_retries`, how often it repeats a request.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touchline.agents.claude_conversation import ClaudeConversation
from touchline.agents.driver_settings import checked_settings, program_files, variables_in, whole_number_in
from touchline.agents.port import Abilities, Conversation, Found, Launch, Request
from touchline.agents.versions import ask_version, warning
from touchline.transcripts.shapes import money

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}
"""A supervised run neither updates itself nor reports anywhere."""
RETRIES = "5"
"""Its own default of 10 repeats even a refused login for three minutes; what passes by itself is tried again by us."""
READING = ("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "ToolSearch")
"""Tools that change nothing: all that a read-only run has when no sandbox of ours keeps the files safe."""
WRITING = ("Write", "Edit", "MultiEdit", "NotebookEdit")
OWN_SANDBOX: Mapping[str, Any] = {
    "disableAllHooks": True,
    "sandbox": {
        "enabled": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
        "failIfUnavailable": True,
    },
}
"""Commands run in its sandbox or not at all. Hooks would run outside of it, and the workspace may bring some along."""

SESSION_FOLDERS = ("projects", "todos", "file-history", "tasks")
"""What a confined run may write of the user's own home for Claude. Not its shell snapshots: every other session of the
user sources those."""


class Claude:
    """Claude Code."""

    name = "claude"
    abilities = Abilities(
        speak=True,
        interrupt=True,
        schema=True,
        read_only=True,
        own_sandbox=True,
        max_turns=True,
        cost=True,
        preset=True,
        plugins=True,
        skills=True,
    )

    def find(self, env: Mapping[str, str]) -> Found | None:
        where = shutil.which("claude", path=env.get("PATH", ""))
        if where is None:
            return None
        path = Path(where)
        version = ask_version(path, env)
        return Found(path=path, version=version, warning=warning(self.name, version))

    def launch(self, request: Request, found: Found, env: Mapping[str, str]) -> Launch:
        settings = checked_settings(self.name, request.settings, known=("env", "max_retries"))
        argv = [str(found.path), "--print", "--verbose", "--replay-user-messages"]
        argv += ["--input-format", "stream-json", "--output-format", "stream-json"]
        if request.session:
            argv += ["--resume", request.session]
        elif request.new_session:
            argv += ["--session-id", request.new_session]
        if request.model:
            argv += ["--model", request.model]
        if request.max_requests is not None:
            argv += ["--max-turns", str(request.max_requests)]
        if request.max_usd is not None:
            argv += ["--max-budget-usd", f"{request.max_usd:.6f}"]  # counted per process, whatever was resumed
        if request.schema is not None:
            argv += ["--json-schema", json.dumps(request.schema)]
        argv += _permissions(request)
        for folder in request.folders:
            argv += ["--add-dir", str(folder)]
        for plugin in request.plugins:
            argv += ["--plugin-dir", str(plugin)]
        added = dict(QUIET)
        if request.confined:
            added["IS_SANDBOX"] = "1"  # as root it refuses to skip its permissions without
        if request.home is not None:
            added["CLAUDE_CONFIG_DIR"] = str(request.home)
        retries = whole_number_in(self.name, settings, "max_retries")
        added["CLAUDE_CODE_MAX_RETRIES"] = (
            env.get("CLAUDE_CODE_MAX_RETRIES", RETRIES) if retries is None else str(retries)
        )
        return Launch(
            argv=(*argv, *request.flags),
            env={**added, **variables_in(self.name, settings)},
            talks=True,
            needs=(*program_files(found.path), *request.plugins, *_read(request, env)),
            keeps=_kept(request, env),
        )

    def converse(self, request: Request, *, spent_before: Mapping[str, Any] | None = None) -> ClaudeConversation:
        told = money((spent_before or {}).get("told_usd"))
        return ClaudeConversation(request, told if request.session else None)

    def spent(self, conversation: Conversation) -> Mapping[str, Any]:
        told = conversation.told_usd if isinstance(conversation, ClaudeConversation) else None
        return {} if told is None else {"told_usd": told}

    def advice(self) -> str:
        return "Install Claude Code: npm install -g @anthropic-ai/claude-code@latest, then run `claude` once to log in."


def _permissions(request: Request) -> list[str]:
    if request.confined:
        # Our sandbox keeps the files; without the writing tools the agent does not try in vain.
        denied = ["--disallowedTools", ",".join(WRITING)] if request.read_only else []
        return ["--dangerously-skip-permissions", *denied]
    if request.read_only:
        return [
            "--permission-mode",
            "dontAsk",
            "--tools",
            ",".join(READING),
            "--allowedTools",
            ",".join(READING),
            "--disallowedTools",
            ",".join(("Bash", *WRITING)),
            "--strict-mcp-config",
            "--settings",
            json.dumps({"disableAllHooks": True}),
        ]
    return ["--permission-mode", "acceptEdits", "--settings", json.dumps(OWN_SANDBOX)]


def _read(request: Request, env: Mapping[str, str]) -> tuple[Path, ...]:
    """The user's own settings and login, the folder first."""
    if request.home is not None:
        return ()
    if env.get("CLAUDE_CONFIG_DIR"):
        return (Path(env["CLAUDE_CONFIG_DIR"]),)
    home = Path(env.get("HOME") or Path.home())
    return (home / ".claude", home / ".claude.json")


def _kept(request: Request, env: Mapping[str, str]) -> tuple[Path, ...]:
    """A home of its own is all its own. Of the user's it may write what belongs to sessions, and the login, which is
    renewed; but no settings, hooks or skills: the user's next session would obey them."""
    if request.home is not None:
        return (request.home,)
    folder = _read(request, env)[0]
    login = folder / ".credentials.json"
    return (*(folder / name for name in SESSION_FOLDERS), *((login,) if login.is_file() else ()))


driver = Claude()
