"""How does OpenAI's Responses API say it? (Codex)

Codex offers its tools in two ways: as tools, or (models that answer with programs) inside an item of the input.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from touchline.rehearsal import api_openai
from touchline.rehearsal.turns import Fault
from touchline.rehearsal.wire import Asked, Event, Spoken, Telling, ToolUse, inner, maps, new_id, pieces, text_of

OWN = frozenset({"function_call", "custom_tool_call", "local_shell_call", "reasoning"})
"""Items that the model itself brought forth."""


class Responses:
    """POST …/v1/responses"""

    def read(self, body: Mapping[str, Any], path: str) -> Asked:  # noqa: ARG002
        telling = Telling()
        offered = maps(body.get("tools"))
        last_call = ""
        given = body.get("input")
        if isinstance(given, str):
            telling.user(given)
        for item in maps(given):
            kind = item.get("type", "message")
            if kind == "additional_tools":
                for group in maps(item.get("tools")):
                    offered += maps(group.get("tools")) or [group]
            elif kind in OWN or (kind == "message" and item.get("role") == "assistant"):
                reply = _reply_of(item)
                # Results may stand between the calls of one reply; the id says which reply a call belongs to.
                if not reply or reply != last_call:
                    telling.reply()
                last_call = reply or last_call
            elif kind == "message" and item.get("role") == "user":
                telling.user(text_of(item.get("content")))
            elif str(kind).endswith("_output"):
                telling.result(text_of(item.get("output")))
        return Asked(
            told=telling.told(),
            tools=tuple(str(tool.get("name") or tool.get("type", "")) for tool in offered),
            free_form=frozenset(str(tool.get("name")) for tool in offered if tool.get("type") == "custom"),
            forced=str(inner(body, "tool_choice", "name") or ""),
            schema=inner(body, "text", "format", "schema"),
            stream=body.get("stream") is True,
            model=str(body.get("model", "")),
            system=text_of(body.get("instructions")),
        )

    def whole(self, spoken: Spoken, asked: Asked) -> Mapping[str, Any]:
        items: list[dict[str, Any]] = []
        if spoken.thinking:
            summary = [{"type": "summary_text", "text": spoken.thinking}]
            items.append({"type": "reasoning", "id": new_id("rs_"), "summary": summary, "encrypted_content": None})
        if spoken.text:
            content = [{"type": "output_text", "text": spoken.text, "annotations": []}]
            items.append(
                {
                    "type": "message",
                    "id": new_id("msg_"),
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            )
        items += [_call(use) for use in spoken.uses]
        usage = spoken.usage
        return {
            "id": spoken.id,
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": asked.model,
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": usage.input + usage.cached,
                "input_tokens_details": {"cached_tokens": usage.cached},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input + usage.cached + usage.output,
            },
        }

    def events(self, spoken: Spoken, asked: Asked) -> list[Event]:
        whole = self.whole(spoken, asked)
        start = {**whole, "status": "in_progress", "output": [], "usage": None}
        found: list[dict[str, Any]] = [{"type": "response.created", "response": start}]
        for index, item in enumerate(whole["output"]):
            at = {"output_index": index}
            opened = {**item, "content": []} if item["type"] == "message" else item
            found.append({"type": "response.output_item.added", **at, "item": opened})
            if item["type"] == "message":
                place = {**at, "item_id": item["id"], "content_index": 0}
                found += [
                    {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
                    for piece in pieces(spoken.text)
                ]
                found.append({"type": "response.output_text.done", **place, "text": spoken.text, "logprobs": []})
            found.append({"type": "response.output_item.done", **at, "item": item})
        found.append({"type": "response.completed", "response": whole})
        return [(event["type"], {**event, "sequence_number": number}) for number, event in enumerate(found)]

    def refusal(self, fault: Fault) -> Mapping[str, Any]:
        return api_openai.refusal(fault)


def _call(use: ToolUse) -> dict[str, Any]:
    if use.text is not None:
        return {
            "type": "custom_tool_call",
            "id": new_id("ctc_"),
            "call_id": use.id,
            "name": use.name,
            "input": use.text,
            "status": "completed",
        }
    return {
        "type": "function_call",
        "id": new_id("fc_"),
        "call_id": use.id,
        "name": use.name,
        "arguments": json.dumps(dict(use.args)),
        "status": "completed",
    }


def _reply_of(item: Mapping[str, Any]) -> str:
    """Which reply a call belongs to, by the id that we gave it; empty when that cannot be told."""
    parts = str(item.get("call_id", "")).split("_")
    return parts[1] if len(parts) == 3 and parts[0] == "call" and parts[1].isdigit() else ""
