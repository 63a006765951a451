"""Where are the logs of the agents on this machine?

Looks into each CLI's usual folder, under the home and the environment the caller names. Links to folders are not
followed, so no walk can run in circles.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from touchline.errors import InputError
from touchline.supervision.values import Value


class LogFile(Value):
    """A session log that was found."""

    path: Path
    cli: str
    size: int
    modified: datetime


def find_logs(
    agents: Collection[str] | None = None,
    home: str | Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[LogFile]:
    """The logs of the given agents (all of them by default), the newest first within each agent.

    Without `home` and `env` the ones of this process are used. A folder that is missing or closed has no logs.
    """
    env = os.environ if env is None else env
    folders = log_folders(Path(home) if home is not None else Path(env.get("HOME") or Path.home()), env)
    unknown = [agent for agent in agents or () if agent not in folders]
    if unknown:
        raise InputError(f"Unknown agent {unknown[0]!r}.", hint=f"Known are {', '.join(folders)}.")
    for cli, places in folders.items():
        if agents is None or cli in agents:
            found = [log for folder in places for log in _logs_in(folder, cli)]
            yield from sorted(found, key=lambda log: (log.modified, log.path), reverse=True)


def log_folders(home: Path, env: Mapping[str, str]) -> dict[str, tuple[Path, ...]]:
    """Where each CLI keeps its logs."""
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    data = Path(env.get("XDG_DATA_HOME") or home / ".local" / "share")
    return {
        "claude": (claude / "projects",),
        "codex": (codex / "sessions", codex / "archived_sessions"),
        "opencode": (data / "opencode",),
        "gemini": (home / ".gemini" / "tmp",),
    }


def _logs_in(folder: Path, cli: str) -> Iterator[LogFile]:
    for parent, inner, names in os.walk(folder, followlinks=False):
        if cli == "opencode":
            inner.clear()
        for name in names:
            path = Path(parent, name)
            if _is_log(path, cli):
                try:
                    facts = path.stat()
                except OSError:
                    continue
                at = datetime.fromtimestamp(facts.st_mtime, UTC)
                yield LogFile(path=path, cli=cli, size=facts.st_size, modified=at)


def _is_log(path: Path, cli: str) -> bool:
    if cli == "opencode":
        return path.name == "opencode.db"
    if cli == "gemini":
        return path.parent.name == "chats" and path.suffix in (".jsonl", ".json")
    return path.suffix == ".jsonl" and (cli != "codex" or path.name.startswith("rollout-"))
