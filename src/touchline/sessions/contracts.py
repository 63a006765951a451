"""What must the agent's last message hold? A contract as JSON, as people write it, and as `supervision` takes it.

    {"tokens": [{"name": "plan_path", "type": "path"}, {"name": "verdict", "type": "verdict", "choices": ["go", "no"]}],
     "marker": true, "schema": null, "wants_writes": true}

With tokens, a marker is asked for too unless `marker` is false; a text is taken as the marker itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from touchline.errors import InputError
from touchline.supervision.contract import Contract, Token, TokenType
from touchline.supervision.schema import schema_fault

_KNOWN = {"tokens", "marker", "schema", "wants_writes"}


def contract_of(value: Mapping[str, Any] | None, marker: str | None = None) -> Contract | None:
    """The contract, with the session's own `marker` where it asks for one. InputError names what does not fit."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise InputError("The contract must be an object.", hint=f"Its fields: {', '.join(sorted(_KNOWN))}.")
    if unknown := sorted(set(value) - _KNOWN):
        raise InputError(f"The contract has unknown fields: {', '.join(unknown)}.", hint=f"Known: {sorted(_KNOWN)}.")
    tokens = tuple(_token(each) for each in value.get("tokens", ()))
    schema = value.get("schema")
    if schema is not None and (wrong := schema_fault(schema)):
        raise InputError(f"The contract's schema: {wrong}")
    if not tokens and schema is None and not value.get("marker"):
        raise InputError("The contract asks for nothing.", hint="Give it tokens, a schema or a marker.")
    wanted = value.get("marker", bool(tokens) and schema is None)
    if isinstance(wanted, str):
        marker = wanted
    return Contract(tokens=tokens, marker=marker if wanted else None, schema=schema)


def wants_marker(value: Mapping[str, Any] | None) -> bool:
    """Whether the session must make a marker of its own for this contract."""
    if value is None or isinstance(value.get("marker"), str):
        return False
    return contract_of(value, "?") is not None and contract_of(value, "?").marker == "?"  # type: ignore[union-attr]


def _token(value: Any) -> Token:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str) or not value["name"]:
        raise InputError(f"{value!r} is no token of a contract.", hint='A token is such as {"name": "plan_path"}.')
    kind = value.get("type", "text")
    if kind not in get_args(TokenType):
        raise InputError(
            f"The token {value['name']} is of the type {kind!r}.", hint=f"Known: {', '.join(get_args(TokenType))}."
        )
    choices = tuple(map(str, value.get("choices", ())))
    if kind == "verdict" and not choices:
        raise InputError(f"The verdict {value['name']} has no choices.", hint="Name the words it may be.")
    return Token(name=value["name"], type=kind, choices=choices)
