"""Does a JSON text fit a schema? The part of JSON Schema that agent CLIs accept for structured output.

Checked keywords: type, enum, const, properties, required, additionalProperties (false), items, minItems, anyOf.
Other keywords are the CLI's to enforce and are not checked here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


_KEYWORDS: Mapping[str, type] = {"properties": dict, "required": list, "enum": list, "anyOf": list, "minItems": int}


def schema_problems(text: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything in the text that does not fit, each as `where: what`; a text in a json fence is taken out of it."""
    fenced = _FENCED.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        return (f"$: not JSON ({type(error).__name__})",)
    return tuple(_problems(value, schema, "$"))


def schema_fault(schema: Any) -> str:
    """What is wrong with the schema itself, as far as this checks it; empty when nothing is."""
    if not isinstance(schema, Mapping):
        return f"is {type(schema).__name__}, but a schema is an object."
    types = schema.get("type")
    names = (
        [types] if isinstance(types, str) else types if isinstance(types, list) else [] if types is None else [types]
    )
    for name in names:
        if name not in _TYPES:
            return f"has the type {name!r:.40}; known are {', '.join(_TYPES)}."
    for keyword, kind in (
        ("properties", Mapping),
        ("required", list),
        ("enum", list),
        ("anyOf", list),
        ("minItems", int),
    ):
        if keyword in schema and not isinstance(schema[keyword], kind):
            return f"has a {keyword} that is {type(schema[keyword]).__name__}."
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if "items" in schema:
        inner.append(schema["items"])
    return next((fault for each in inner if (fault := schema_fault(each))), "")


def _problems(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    options = schema.get("anyOf")
    if isinstance(options, list) and not any(not list(_problems(value, o, where)) for o in options):
        yield f"{where}: fits none of {len(options)} forms"
    types = schema.get("type")
    names = [types] if isinstance(types, str) else list(types or ())
    if names and not any(_is(value, name) for name in names):
        yield f"{where}: is {type(value).__name__}, wanted {' or '.join(names)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r:.60} is none of {schema['enum']!r:.200}"
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r:.60} is not {schema['const']!r:.60}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{where}.{name}: missing"
        for name, inner in value.items():
            if name in properties:
                yield from _problems(inner, properties[name], f"{where}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{where}.{name}: not in the schema"
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: {len(value)} items, wanted at least {schema['minItems']}"
        items = schema.get("items")
        if isinstance(items, Mapping):
            for index, inner in enumerate(value):
                yield from _problems(inner, items, f"{where}[{index}]")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(name, (object,)))
