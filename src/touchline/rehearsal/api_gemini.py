"""How does Google's Gemini API say it? (Gemini CLI)"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from touchline.rehearsal.turns import Fault
from touchline.rehearsal.wire import Asked, Event, Spoken, Telling, inner, maps, new_id, text_of

STATUSES = {
    "bad_request": "INVALID_ARGUMENT",
    "login": "UNAUTHENTICATED",
    "forbidden": "PERMISSION_DENIED",
    "not_found": "NOT_FOUND",
    "rate_limit": "RESOURCE_EXHAUSTED",
    "server": "INTERNAL",
    "overloaded": "UNAVAILABLE",
    "too_long": "INVALID_ARGUMENT",
}


class Gemini:
    """POST …/v1beta/models/NAME:generateContent and :streamGenerateContent"""

    def read(self, body: Mapping[str, Any], path: str) -> Asked:
        telling = Telling()
        for content in maps(body.get("contents")):
            if content.get("role") == "model":
                telling.reply()
                continue
            for part in maps(content.get("parts")):
                if "functionResponse" in part:
                    telling.result(json.dumps(inner(part, "functionResponse", "response"), ensure_ascii=False))
                elif "text" in part:
                    telling.user(str(part["text"]))
        config = body.get("generationConfig")
        named = re.search(r"/models/([^:/?]+):", path)
        return Asked(
            told=telling.told(),
            tools=tuple(
                str(function.get("name", ""))
                for tool in maps(body.get("tools"))
                for function in maps(tool.get("functionDeclarations"))
            ),
            schema=inner(config, "responseJsonSchema") or inner(config, "responseSchema"),
            stream=":streamGenerateContent" in path,
            model=named[1] if named else "",
            system=text_of(maps(inner(body, "systemInstruction", "parts"))),
        )

    def whole(self, spoken: Spoken, asked: Asked) -> Mapping[str, Any]:
        return _chunk(_parts(spoken), spoken, asked, reason="STOP")

    def events(self, spoken: Spoken, asked: Asked) -> list[Event]:
        found = [("", _chunk([part], spoken, asked)) for part in _parts(spoken)]
        return [*found, ("", _chunk([{"text": ""}], spoken, asked, reason="STOP"))]

    def refusal(self, fault: Fault) -> Mapping[str, Any]:
        return {"error": {"code": fault.status, "message": fault.message, "status": STATUSES[fault.kind]}}


def _parts(spoken: Spoken) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if spoken.thinking:
        parts.append({"text": spoken.thinking, "thought": True})
    # Two pieces at least: a connection can only be cut in the middle of something.
    half = (len(spoken.text) + 1) // 2
    parts += [{"text": words} for words in (spoken.text[:half], spoken.text[half:]) if words]
    parts += [
        {"functionCall": {"name": use.name, "args": dict(use.args)}, "thoughtSignature": "cmVoZWFyc2Fs"}
        for use in spoken.uses
    ]
    return parts


def _chunk(parts: list[dict[str, Any]], spoken: Spoken, asked: Asked, *, reason: str = "") -> dict[str, Any]:
    usage = spoken.usage
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.input + usage.cached,
            "cachedContentTokenCount": usage.cached,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.cached + usage.output,
        },
        "modelVersion": asked.model,
        "responseId": new_id(""),
    }
