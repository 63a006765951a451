"""Has the user seen what a project's file wants to run? Kept once per project and content, in the user's state folder.

A repository is a stranger's: its settings file must not be able to switch the sandbox off or name commands unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from touchline.errors import SettingsError
from touchline.settings.folders import state_folder
from touchline.settings.keys import require_key

SCHEMA = "touchline.trust-file/1"
MOST_PROJECTS = 1_000
"""The longest unused are forgotten beyond this."""


def guarded_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a file's settings that need trust."""
    return {name: value for name, value in sorted(values.items()) if require_key(name).guarded}


def fingerprint(guarded: Mapping[str, Any]) -> str:
    """The same for the same settings, however the file is written."""
    text = json.dumps(guarded, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def trust_file(env: Mapping[str, str], home: Path) -> Path:
    return state_folder(env, home) / "trust.json"


def is_trusted(root: Path, guarded: Mapping[str, Any], *, env: Mapping[str, str], home: Path) -> bool:
    """Whether the user agreed to exactly these settings of this project."""
    if not guarded:
        return True
    kept = _kept(trust_file(env, home)).get(_name(root))
    return isinstance(kept, dict) and kept.get("settings") == fingerprint(guarded)


def remember(root: Path, guarded: Mapping[str, Any] | None, *, env: Mapping[str, str], home: Path) -> Path:
    """Write down that the user agrees, or with None that they do not any more; the file it stands in."""
    from datetime import UTC, datetime
    from tempfile import NamedTemporaryFile

    path = trust_file(env, home)
    known = _kept(path)
    known.pop(_name(root), None)
    if guarded is not None:
        known[_name(root)] = {"settings": fingerprint(guarded), "at": datetime.now(UTC).isoformat(timespec="seconds")}
    kept = dict(list(known.items())[-MOST_PROJECTS:])
    text = json.dumps({"schema": SCHEMA, "projects": kept}, indent=2) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile("w", dir=path.parent, prefix=".trust.", delete=False, encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise SettingsError(
            f"{path} cannot be written ({error.strerror}).", hint="Give another folder with XDG_STATE_HOME."
        ) from None
    return path


def _kept(path: Path) -> dict[str, Any]:
    """What is written down; nothing when it cannot be read, which trusts nobody."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["projects"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _name(root: Path) -> str:
    return str(root.resolve())
