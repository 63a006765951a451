"""What was read of a database, until somebody writes to it: a test that waits asks many times a second."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from touchline.store.database import Database

T = TypeVar("T")


class Glances:
    """Reads again only when another connection has changed the file. On PostgreSQL it always reads."""

    def __init__(self, database: Database) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Any, tuple[int, Any]] = {}
        path = database.url.removeprefix("sqlite:///")
        self._line = sqlite3.connect(path, check_same_thread=False) if database.sqlite else None
        if self._line is not None:
            weakref.finalize(self, self._line.close)

    def __call__(self, key: Any, read: Callable[[], T]) -> T:
        with self._lock:
            if self._line is None:
                return read()
            # Before the reading: what is written in between is then read once more.
            (version,) = self._line.execute("pragma data_version").fetchone()
            if key not in self._kept or self._kept[key][0] != version:
                self._kept[key] = (version, read())
            found: T = self._kept[key][1]
            return found
