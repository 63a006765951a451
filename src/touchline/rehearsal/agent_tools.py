"""What happens when the scripted agent calls a tool? It really happens: commands run, files are written."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from touchline.rehearsal.wire import ToolUse

SHOWN = 30_000
"""Characters of a command's output that the model is shown."""


class Tools:
    """The agent's tools. `stop` may be called from another thread.

    `scratch` is the name of a file that may be written and removed.
    """

    def __init__(self, scratch: Path, *, writing: bool = True, commands: bool = True) -> None:
        self._scratch = scratch
        self._writing = writing
        self._commands = commands
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def use(self, use: ToolUse) -> tuple[str, bool]:
        """What the tool returns, and whether it failed."""
        known: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, bool]]] = {
            "Bash": self._bash,
            "Write": self._write,
            "Edit": self._edit,
            "Read": self._read,
        }
        tool = known.get(use.name)
        if tool is None:
            return f"<tool_use_error>Error: No such tool available: {use.name}</tool_use_error>", True
        try:
            return tool(use.args)
        except (OSError, UnicodeError, ValueError) as error:
            return f"Error: {error}", True
        except KeyError as error:
            return f"InputValidationError: {use.name} needs {error}", True

    def stop(self) -> None:
        """End the command that runs, and start no other."""
        with self._lock:
            self._stopped = True
            if self._running is not None:
                with suppress(ProcessLookupError):
                    os.killpg(self._running.pid, signal.SIGKILL)

    def ready(self) -> None:
        """A new turn begins: what was stopped before is over."""
        with self._lock:
            self._stopped = False

    def _bash(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        if not self._commands:
            return "This session is read-only: commands cannot be run.", True
        # A file instead of a pipe: a command that leaves something running in the background ends all the same.
        with open(self._scratch, "w+b", opener=_nameless) as output:
            with self._lock:
                if self._stopped:
                    return "", True
                # A session of its own, as the real CLIs do: who ends only the agent leaves its tools running.
                self._running = subprocess.Popen(  # noqa: S603 - the script's command is meant to run
                    ["/bin/sh", "-c", str(args["command"])],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                code = self._running.wait()
            finally:
                with self._lock:
                    self._running = None
            output.seek(max(0, output.seek(0, os.SEEK_END) - SHOWN))
            words = output.read().decode("utf-8", "replace").rstrip("\n")
        if code:
            return f"Exit code {code if code > 0 else 128 - code}\n{words}".rstrip("\n"), True
        return words or "(no output)", False

    def _write(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        path = Path(str(args["file_path"]))
        if refusal := self._refusal(path):
            return refusal, True
        there = path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(args["content"]), encoding="utf-8")
        done = "has been updated successfully" if there else "has been created successfully"
        return f"The file {path} {done}.", False

    def _edit(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        path, old = Path(str(args["file_path"])), str(args["old_string"])
        if refusal := self._refusal(path):
            return refusal, True
        words = path.read_text(encoding="utf-8")
        if old not in words:
            return f"<tool_use_error>String to replace not found in file.\nString: {old}</tool_use_error>", True
        path.write_text(words.replace(old, str(args["new_string"]), 1), encoding="utf-8")
        return f"The file {path} has been updated successfully.", False

    def _read(self, args: Mapping[str, Any]) -> tuple[str, bool]:
        lines = Path(str(args["file_path"])).read_text(encoding="utf-8").splitlines()
        return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))[:SHOWN], False

    def _refusal(self, path: Path) -> str:
        return "" if self._writing else f"This session is read-only: {path} was not written."


def _nameless(path: str, flags: int) -> int:
    """Open a file that is gone when it is closed, however the process ends. (`tempfile` is slow to import.)"""
    opened = os.open(path, flags, 0o600)
    os.unlink(path)
    return opened
