"""Is this JSON value of the expected kind?

Agents' records change with every version, so each field is asked for its kind and a wrong one reads as absent.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

NOTHING: Mapping[str, Any] = type(type.__dict__)({})
MOST = 10**12


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else NOTHING


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def identifier(value: Any) -> str | None:
    """An id: any non-empty text, or a number some version writes instead."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def count(value: Any) -> int:
    """A number of tokens: a whole number from 0 on, and no larger than a database can sum."""
    if type(value) is int:
        return max(0, min(value, MOST))
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        return 0
    return max(0, min(int(value), MOST))


def _is_finite(value: float) -> bool:
    """As `math` tells it, which a hook need not load for this."""
    return value - value == 0


def whole(value: Any) -> int | None:
    """A whole number such as an exit code or an HTTP status."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value


def money(value: Any) -> float | None:
    """An amount, where there is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = float(value)
    except OverflowError:
        return None
    return amount if _is_finite(amount) and amount >= 0 else None


def moment(value: Any) -> datetime | None:
    """A point in time from ISO text or from milliseconds since 1970, aware and in UTC."""
    from datetime import UTC, datetime  # here: a hook reads without times

    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            if at.tzinfo is UTC:
                return at
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def joined_text(value: Any) -> str:
    """The words of a content field: a text, or a list of blocks with texts in them."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        return ""
    parts = []
    for block in value:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            words = block.get("text")
            if isinstance(words, str):
                parts.append(words)
            elif block.get("type") == "image":
                parts.append("[image]")
    return "\n".join(parts)
