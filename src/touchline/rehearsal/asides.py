"""Is a request a turn of the session, or an aside of the CLI's (a title, a summary, a guess)? Asides cost no turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from touchline.rehearsal.turns import Conversation
from touchline.rehearsal.wire import Asked


def is_aside(asked: Asked, conversation: Conversation | None) -> bool:
    """True for a request that the script says nothing about.

    Agents offer tools with every request that is a turn. Where the script answers with JSON, or says that a plain
    program asks, requests with a schema or without tools are turns too.
    """
    if _known().search(asked.told[-1].words) or _known().search(asked.system):
        return True
    expected = conversation is not None and (conversation.plain or conversation.structured)
    return not expected and (not asked.tools or asked.schema is not None)


def aside_text(asked: Asked) -> str:
    """A harmless answer to it."""
    return "Rehearsal" if asked.schema is None else json.dumps(smallest(asked.schema))


def smallest(schema: Mapping[str, Any]) -> Any:
    """The smallest value that fits a JSON schema, as far as asides use one."""
    kind = schema.get("type", "object")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    properties = schema.get("properties")
    if kind == "object":
        known = properties.items() if isinstance(properties, Mapping) else ()
        return {name: smallest(each) for name, each in known if isinstance(each, Mapping)}
    return {"array": [], "string": "rehearsal", "integer": 1, "number": 1, "boolean": False}.get(kind)


@cache
def _known() -> re.Pattern[str]:
    data = json.loads(files("touchline.rehearsal").joinpath("asides.json").read_text(encoding="utf-8"))
    return re.compile("|".join(f"(?:{each['pattern']})" for each in data["patterns"]), re.IGNORECASE)
