"""What did the agent do? Each CLI's stream or log, read into the same `Turn`.

The names load on first use: importing this package costs nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from touchline.transcripts.find import LogFile, find_logs
    from touchline.transcripts.formats import LogFormat, sniff
    from touchline.transcripts.read import CLIS, read_log, read_turn, reader_for
    from touchline.transcripts.stream import StreamReader

_HOMES = {
    "CLIS": "read",
    "LogFile": "find",
    "LogFormat": "formats",
    "StreamReader": "stream",
    "find_logs": "find",
    "read_log": "read",
    "read_turn": "read",
    "reader_for": "read",
    "sniff": "formats",
}
__all__ = [
    "CLIS",
    "LogFile",
    "LogFormat",
    "StreamReader",
    "find_logs",
    "read_log",
    "read_turn",
    "reader_for",
    "sniff",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
