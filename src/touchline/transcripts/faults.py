"""What kind of error is this?

Read from the CLI's typed fields first (HTTP status, error word), and from whole phrases of the message last. The
words are in `faults.json`.
"""

from __future__ import annotations

from touchline.plain_os import dirname, join
from touchline.supervision.data_files import unusable
from touchline.supervision.facts import FaultKind
from touchline.supervision.prepared import shape
from touchline.supervision.remembering import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

_DATA = join(dirname(__file__), "faults.json")
_BY_STATUS: dict[int, FaultKind] = {
    401: "auth",
    403: "auth",
    408: "network",
    413: "context",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}


@cache
def _data() -> dict[str, Any]:
    import json

    try:
        with open(_DATA, encoding="utf-8") as file:
            loaded: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise unusable(f"{_DATA} cannot be read: {error}") from error
    return loaded


@cache
def _status_pattern() -> re.Pattern[str]:
    import re

    before = "|".join(re.escape(words) for words in _data()["status_before"])
    return shape("(?i)" + rf"(?:{before})\s*([1-5]\d\d)\b")


def status_in(message: str) -> int | None:
    """The HTTP status a CLI writes into its message, after one of its own fixed phrases only."""
    found = _status_pattern().search(message[:2_000])
    return int(found[1]) if found else None


def kind_of(*, status: int | None = None, word: str | None = None, message: str = "") -> FaultKind:
    """The kind of a fault. A prompt that is too long comes as a plain 400, so it is looked for before that."""
    data = _data()
    low = message[:2_000].lower()
    said: FaultKind | None = next((kind for kind, phrase in data["phrases"] if phrase in low), None)
    if said == "context":
        return said
    typed: FaultKind | None = data["words"].get(word) if word else None
    if typed == "context":
        return typed
    if status is not None:
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        if 400 <= status < 500:
            return "bad_request"
        if 500 <= status < 600:
            return "server"
    return typed or said or "other"
