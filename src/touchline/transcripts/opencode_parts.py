"""What is a part of an OpenCode message?

The same parts come in the stream (`opencode run --format json`) and in OpenCode's database.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from touchline.supervision.facts import Usage
from touchline.transcripts.faults import kind_of
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.shapes import count, identifier, mapping, money, text, whole

DONE = frozenset({"completed", "error"})
REJECTED = "rejected permission"
"""How OpenCode words the result of a call that nobody could allow; there is no typed field for it."""


def usage_of(value: Any) -> Usage:
    """Tokens of a step. Reasoning is counted as output, whichever way the total has it."""
    tokens = mapping(value)
    cache = mapping(tokens.get("cache"))
    fresh, out, thought = (count(tokens.get(name)) for name in ("input", "output", "reasoning"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    total = count(tokens.get("total"))
    if total != fresh + out + read + written:
        out += thought
    return Usage(input=fresh, output=out, cache_read=read, cache_write=written)


def add_tool(turn: Gathering, part: Mapping[str, Any], *, at: datetime | None, subagent: bool = False) -> bool:
    """Add a call, and its result once it is done; True when it was refused for want of a permission."""
    state = mapping(part.get("state"))
    call_id = identifier(part.get("callID")) or identifier(part.get("id")) or f"unnamed_{turn.added}"
    turn.call(call_id, text(part.get("tool")), state.get("input"), at=at, subagent=subagent)
    status = text(state.get("status"))
    if status not in DONE:
        return False
    error = text(state.get("error"))
    exit_code = whole(mapping(state.get("metadata")).get("exit"))
    failed = status == "error"
    turn.result(call_id, error if failed else text(state.get("output")), failed=failed, exit_code=exit_code, at=at)
    return failed and REJECTED in error


def add_step(turn: Gathering, part: Mapping[str, Any], *, model: str | None = None) -> None:
    """Add the tokens and the cost of a finished step."""
    turn.spend(usage_of(part.get("tokens")), model)
    turn.charge(money(part.get("cost")))


def add_error(turn: Gathering, error: Any, *, at: datetime | None, fatal: bool) -> str:
    """Add an error record; returns a short word for it."""
    name, data = text(mapping(error).get("name")), mapping(mapping(error).get("data"))
    status = whole(data.get("statusCode"))
    message = text(data.get("message")) or name
    kind = kind_of(status=status, word=name, message=message)
    turn.fault(kind, message, status=status, fatal=fatal, at=at)
    return "prompt_too_long" if kind == "context" else f"api {status}" if status else name or "error"
