"""How does OpenAI's chat completions API say it? (OpenCode, and most other programs)"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from touchline.rehearsal import api_openai
from touchline.rehearsal.turns import Fault
from touchline.rehearsal.wire import Asked, Event, Spoken, Telling, inner, maps, pieces, text_of


class Chat:
    """POST …/v1/chat/completions"""

    def read(self, body: Mapping[str, Any], path: str) -> Asked:  # noqa: ARG002
        telling = Telling()
        system = []
        for message in maps(body.get("messages")):
            words = text_of(message.get("content"))
            match message.get("role"):
                case "assistant":
                    telling.reply()
                case "user":
                    telling.user(words)
                case "tool" | "function":
                    telling.result(words)
                case _:
                    system.append(words)
        return Asked(
            told=telling.told(),
            tools=tuple(str(inner(tool, "function", "name") or "") for tool in maps(body.get("tools"))),
            forced=str(inner(body, "tool_choice", "function", "name") or ""),
            schema=inner(body, "response_format", "json_schema", "schema"),
            stream=body.get("stream") is True,
            model=str(body.get("model", "")),
            system="\n".join(system),
        )

    def whole(self, spoken: Spoken, asked: Asked) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": spoken.text or None}
        if spoken.thinking:
            message["reasoning_content"] = spoken.thinking
        if spoken.uses:
            message["tool_calls"] = _calls(spoken)
        reason = "tool_calls" if spoken.uses else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": message, "logprobs": None}
        return {**_head(spoken, asked, "chat.completion"), "choices": [choice], "usage": _usage(spoken)}

    def events(self, spoken: Spoken, asked: Asked) -> list[Event]:
        head = _head(spoken, asked, "chat.completion.chunk")

        def chunk(delta: Mapping[str, Any], reason: str | None = None) -> Event:
            return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

        found = [chunk({"role": "assistant", "content": ""})]
        found += [chunk({"reasoning_content": piece}) for piece in pieces(spoken.thinking)]
        found += [chunk({"content": piece}) for piece in pieces(spoken.text)]
        for call in _calls(spoken):
            arguments = call["function"]["arguments"]
            found.append(chunk({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]}))
            found.append(chunk({"tool_calls": [{"index": call["index"], "function": {"arguments": arguments}}]}))
        found.append(chunk({}, "tool_calls" if spoken.uses else "stop"))
        found.append(("", {**head, "choices": [], "usage": _usage(spoken)}))
        found.append(("", "[DONE]"))
        return found

    def refusal(self, fault: Fault) -> Mapping[str, Any]:
        return api_openai.refusal(fault)


def _head(spoken: Spoken, asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": spoken.id, "object": kind, "created": int(time.time()), "model": asked.model}


def _calls(spoken: Spoken) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": use.id,
            "type": "function",
            "function": {"name": use.name, "arguments": json.dumps(dict(use.args))},
        }
        for index, use in enumerate(spoken.uses)
    ]


def _usage(spoken: Spoken) -> dict[str, Any]:
    usage = spoken.usage
    return {
        "prompt_tokens": usage.input + usage.cached,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.cached + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
