"""What does a hook remember from one process to the next, and where?

A folder per session (and per helper of the agent) in the user's state folder: `state.json`, read and written at every
event and therefore small; `calls.jsonl`, only appended to; others when they are needed. Imports stay few: every
event waits for them.
"""

from __future__ import annotations

import posix
import time

from touchline.plain_json import dumps, loads
from touchline.plain_os import home_of, join, makedirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

CALLS_BYTES = 1_000_000
"""Beyond this the journal of calls is cut down to its last lines."""
CALLS_KEPT = 80
"""Lines kept then: more than any rule looks back over."""
LOG_BYTES = 256_000
"""The log is turned over beyond this size; one older part is kept."""
DAYS_KEPT = 30
"""Sessions untouched for longer are forgotten."""


def state_folder(env: Mapping[str, str]) -> str:
    """Where hooks keep what they remember, by the XDG rules."""
    given = env.get("XDG_STATE_HOME", "")
    if not given.startswith("/"):
        given = join(home_of(env), ".local", "state")
    return join(given, "touchline")


class Memory:
    """One session's folder, held by this process alone while it is open."""

    def __init__(self, env: Mapping[str, str], agent: str, session: str, helper: str = "") -> None:
        self.folder = join(state_folder(env), "hooks", f"{agent}-{_name(session)}")
        if helper:
            self.folder = join(self.folder, _name(helper))
        self.state: dict[str, Any] = {}
        self._lock = -1

    def __enter__(self) -> Memory:
        makedirs(self.folder, 0o700)
        self._lock = posix.open(join(self.folder, "lock"), posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC, 0o600)
        # Calls that ran at the same time end at the same time; a process that dies lets go by itself.
        posix.lockf(self._lock, posix.F_LOCK, 0)
        found = self.load("state.json")
        self.state = found if isinstance(found, dict) and _is_ours(found) else {}
        return self

    def __exit__(self, *_: object) -> None:
        posix.close(self._lock)

    def load(self, name: str) -> Any:
        """What was saved under this name; None when there is nothing, or nothing readable."""
        try:
            with open(join(self.folder, name), "rb") as file:
                return loads(file.read())
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, name: str, value: object) -> None:
        """Save whole or not at all: a process may be killed at any point."""
        path = join(self.folder, name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(dumps(value))
        posix.replace(f"{path}.new", path)

    def keep(self) -> None:
        """Save the state."""
        self.save("state.json", self.state)

    def append_call(self, entry: list[Any]) -> None:
        """Note a finished call, or that a person spoke."""
        path = join(self.folder, "calls.jsonl")
        with open(path, "ab") as file:
            file.write(dumps(entry).encode() + b"\n")
            large = file.tell() > CALLS_BYTES
        if large:
            with open(path, "rb") as file:
                lines = file.read().splitlines(keepends=True)[-CALLS_KEPT:]
            while len(lines) > 1 and sum(map(len, lines)) > CALLS_BYTES // 2:
                del lines[0]
            with open(f"{path}.new", "wb") as file:
                file.writelines(lines)
            posix.replace(f"{path}.new", path)

    def calls(self) -> Iterator[list[Any]]:
        """Every call of the journal, oldest first; lines that cannot be read are passed over."""
        try:
            with open(join(self.folder, "calls.jsonl"), "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                entry = loads(line)
            except ValueError:
                continue
            if isinstance(entry, list):
                yield entry


def forget_old(env: Mapping[str, str], *, now: float, at_most: int = 20) -> None:
    """Remove the folders of sessions long over, a few at a time."""
    folder = join(state_folder(env), "hooks")
    gone = 0
    for entry in posix.scandir(folder):
        if gone >= at_most:
            return
        if entry.is_dir(follow_symlinks=False) and entry.stat().st_mtime < now - DAYS_KEPT * 86_400:
            import shutil

            shutil.rmtree(entry.path, ignore_errors=True)
            gone += 1


def note(env: Mapping[str, str], words: str) -> None:
    """Add a line to the log of the hooks, or give up: a log is not worth a person's session."""
    try:
        folder = state_folder(env)
        makedirs(folder, 0o700)
        path = join(folder, "hooks.log")
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {' '.join(words.split())[:2_000]}\n"
        with open(path, "a", encoding="utf-8", errors="replace") as file:
            file.write(line)
            large = file.tell() > LOG_BYTES
        if large:
            posix.replace(path, f"{path}.1")
    except OSError:
        pass


def note_fault(env: Mapping[str, str], arguments: list[str]) -> None:
    """Log the exception that is being handled, with the place it came from."""
    import traceback

    note(env, f"hook {' '.join(arguments)} let the agent go on: {traceback.format_exc(limit=-4)}")


def _is_ours(state: dict[str, Any]) -> bool:
    """Of the expected form: what another version or an accident left is begun anew, not stumbled over each time."""
    forms = {"known": dict, "calls": int, "work": dict, "limits": dict, "told": list}
    forms |= {"segments": list, "tail": dict, "failing": list}
    return all(isinstance(state[name], form) for name, form in forms.items() if name in state)


def _name(identifier: str) -> str:
    """A session's id as a folder name, whatever it holds."""
    if identifier and len(identifier) <= 80 and identifier.replace("-", "").replace("_", "").isalnum():
        return identifier
    from hashlib import sha256

    return sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:32]
