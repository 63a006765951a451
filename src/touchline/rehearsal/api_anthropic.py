"""How does Anthropic's Messages API say it? (Claude Code)"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from touchline.rehearsal.turns import Fault
from touchline.rehearsal.wire import Asked, Event, Spoken, Telling, inner, maps, new_id, pieces, text_of

ERRORS = {
    "bad_request": "invalid_request_error",
    "login": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "rate_limit": "rate_limit_error",
    "server": "api_error",
    "overloaded": "overloaded_error",
    "too_long": "invalid_request_error",
}

NO_REPLY = "No response requested."
"""What Claude Code itself puts into the model's mouth when it resumes a session that was cut off."""
_REMINDER = re.compile(r"\n*<system-reminder>\n?(.*?)\n?</system-reminder>", re.DOTALL)


class Anthropic:
    """POST …/v1/messages"""

    def read(self, body: Mapping[str, Any], path: str) -> Asked:  # noqa: ARG002
        telling = Telling()
        for message in maps(body.get("messages")):
            content = message.get("content")
            if message.get("role") == "assistant":
                if text_of(content) != NO_REPLY:
                    telling.reply()
            elif isinstance(content, str):
                telling.user(content)
            else:
                for block in maps(content):
                    if block.get("type") == "tool_result":
                        _result(telling, text_of(block.get("content")))
                    else:
                        telling.user(text_of(block))
        choice = body.get("tool_choice")
        return Asked(
            told=telling.told(),
            tools=tuple(str(tool.get("name", "")) for tool in maps(body.get("tools"))),
            forced=str(inner(choice, "name") or "") if inner(choice, "type") == "tool" else "",
            schema=inner(body, "output_config", "format", "schema") or inner(body, "output_format", "schema"),
            stream=body.get("stream") is True,
            model=str(body.get("model", "")),
            system=text_of(body.get("system")),
        )

    def whole(self, spoken: Spoken, asked: Asked) -> Mapping[str, Any]:
        blocks: list[dict[str, Any]] = []
        if spoken.thinking:
            blocks.append({"type": "thinking", "thinking": spoken.thinking, "signature": "cmVoZWFyc2Fs"})
        if spoken.text:
            blocks.append({"type": "text", "text": spoken.text})
        blocks += [{"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.args)} for use in spoken.uses]
        return {
            "id": spoken.id,
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": blocks,
            "stop_reason": "tool_use" if spoken.uses else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": spoken.usage.input,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": spoken.usage.cached,
                "output_tokens": spoken.usage.output,
            },
        }

    def events(self, spoken: Spoken, asked: Asked) -> list[Event]:
        whole = self.whole(spoken, asked)
        usage = whole["usage"]
        # The real API tells the output tokens only at the end, too.
        start = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
        found: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for index, block in enumerate(whole["content"]):
            found += _block(index, block)
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        found += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        return [(event["type"], event) for event in found]

    def refusal(self, fault: Fault) -> Mapping[str, Any]:
        error = {"type": ERRORS[fault.kind], "message": fault.message}
        return {"type": "error", "error": error, "request_id": new_id("req_")}


def _result(telling: Telling, words: str) -> None:
    """What a tool returned. Claude Code puts into it what the user, a hook or itself said meanwhile, marked as such."""
    telling.result(_REMINDER.sub("", words).rstrip())
    for said in _REMINDER.findall(words):
        telling.user(said)


def _block(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one content block."""
    match block["type"]:
        case "thinking":
            empty: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        case _:
            empty = {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces(json.dumps(block["input"]), 400)
            ]
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]
