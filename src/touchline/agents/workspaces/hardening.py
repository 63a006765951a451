"""With which settings does Touchline run git? Nobody's but these: no hook, no helper, no prompt, no network.

Standard library only: `gather` runs inside the sandbox with nothing else at hand.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SETTINGS: Mapping[str, str] = {
    # What git would start by itself.
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.askPass": "",
    "core.editor": "false",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "merge.default": "text",
    # Where it would go.
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    # What it would believe.
    "safe.bareRepository": "explicit",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.untrackedCache": "false",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "fetch.fsckObjects": "true",
    "transfer.fsckObjects": "true",
    # Below this number of objects git would write them one by one, before all of them are checked.
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    # How it speaks.
    "color.ui": "false",
    "core.quotePath": "false",
    "advice.detachedHead": "false",
    "init.defaultBranch": "main",
}
_KEPT = ("PATH", "TMPDIR", "SYSTEMROOT")
_FIXED: Mapping[str, str] = {
    "LC_ALL": "C",
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "false",
    "GIT_LITERAL_PATHSPECS": "1",
}


def make_repository(path: Path, hash_name: str) -> None:
    """An empty repository with no settings at all, as `git init --bare` makes it; without starting anything."""
    for name in ("objects/info", "objects/pack", "refs", "info"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    version, more = (0, "") if hash_name == "sha1" else (1, f"[extensions]\n\tobjectFormat = {hash_name}\n")
    config = f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{more}"
    (path / "config").write_text(config, encoding="ascii")


def hardened_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the caller's but the way to programs; every `GIT_*` is ours."""
    return {**{name: base[name] for name in _KEPT if name in base}, **_FIXED}


def hardened_command(*arguments: str, settings: Mapping[str, str] | None = None) -> list[str]:
    """`git` with our settings before its own arguments; `settings` are added last, and win."""
    pairs = {**SETTINGS, **(settings or {})}
    return ["git", *(part for name, value in pairs.items() for part in ("-c", f"{name}={value}")), *arguments]
