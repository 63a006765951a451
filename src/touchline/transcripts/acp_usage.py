"""How many tokens did a prompt take, by the answer to it?

Agents of the Agent Client Protocol tell it in three ways: `usage` (OpenCode: of the last model request only),
`_meta.quota` with a sum, and the same by model, which alone counts the agent's requests on the side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchline.supervision.facts import Usage
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.shapes import count, items, mapping, text


def add_usage(turn: Gathering, answer: Mapping[str, Any]) -> None:
    """Add what the answer to a prompt tells of tokens, once."""
    quota = mapping(mapping(answer.get("_meta")).get("quota"))
    models = [mapping(entry) for entry in items(quota.get("model_usage"))]
    if models:
        for entry in models:
            turn.spend(usage_of(entry.get("token_count")), text(entry.get("model")) or turn.model)
        if turn.model not in [entry.get("model") for entry in models]:
            turn.model = text(models[0].get("model")) or turn.model
    else:
        turn.spend(usage_of(answer.get("usage") or quota.get("token_count")), turn.model)


def usage_of(value: Any) -> Usage:
    """Whether cached tokens and thoughts are inside the other numbers shows in the total."""
    told = mapping(value)
    given = count(told.get("inputTokens")) or count(told.get("input_tokens"))
    out = count(told.get("outputTokens")) or count(told.get("output_tokens"))
    read = count(told.get("cachedReadTokens")) or count(told.get("cachedInputTokens"))
    written = next(
        (n for n in (count(told.get(key)) for key in ("cachedWriteTokens", "cacheWriteInputTokens")) if n), 0
    )
    thought = count(told.get("thoughtTokens")) or count(told.get("reasoningOutputTokens"))
    total = count(told.get("totalTokens"))
    if thought and total in (given + out + read + written + thought, given + out + thought):
        out += thought
    if total and total == given + out and read + written <= given:
        given -= read + written
    return Usage(input=given, output=out, cache_read=read, cache_write=written)
