"""Where can one read later what happened? A log file in the user's state folder, turned over when it has grown.

Several processes may write to one file at a time. A log that cannot be written stops nobody.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from pathlib import Path

from touchline.errors import SettingsError
from touchline.settings.folders import state_folder
from touchline.settings.quick import settings_if_any
from touchline.settings.sections import LogSection


class LogFile:
    """A file with the newest lines, and so many older files beside it: `worker.log`, `worker.log.1`, …"""

    def __init__(self, path: Path, section: LogSection) -> None:
        self.path = path
        self._section = section

    def write(self, words: str) -> None:
        """Add a line, or give up."""
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {os.getpid()} {words.rstrip()}\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # Whole or not at all beside the lines of others: one write, at the end wherever that is by then.
                os.write(handle, line.encode(errors="backslashreplace"))
                large = os.fstat(handle).st_size > self._section.bytes
            finally:
                os.close(handle)
            if large:
                self._turn_over()
        except OSError:
            return

    def _turn_over(self) -> None:
        lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another process may have been faster.
            if os.stat(self.path).st_size <= self._section.bytes:
                return
            for number in range(self._section.files, 0, -1):
                older = self.path if number == 1 else Path(f"{self.path}.{number - 1}")
                if older.exists():
                    os.replace(older, f"{self.path}.{number}")
        finally:
            os.close(lock)


class LogHandler(logging.Handler):
    """Log records into a log file."""

    def __init__(self, file: LogFile) -> None:
        super().__init__()
        self._file = file

    def emit(self, record: logging.LogRecord) -> None:
        self._file.write(f"{record.levelname} {record.name} {self.format(record)}")


def log_file(name: str) -> LogFile | None:
    """The log file of that name; None in a test that names no state folder: it must not write into a person's."""
    env = os.environ
    try:
        home = Path.home()
    except RuntimeError:  # nobody knows where
        return None
    if "PYTEST_CURRENT_TEST" in env and not env.get("XDG_STATE_HOME"):
        return None
    try:
        found = settings_if_any(env, Path.cwd(), home, section="log")
    except (SettingsError, OSError):
        found = None
    return LogFile(state_folder(env, home) / f"{name}.log", found.log if found is not None else LogSection())
