"""How does Claude Code print it? The records of its `stream-json` dialect, as the scripted agent speaks it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from touchline.rehearsal.turns import Fault, Usage
from touchline.rehearsal.wire import ToolUse

TOOLS = ("Bash", "Edit", "Read", "Write")
PRICES = (3.0, 0.3, 15.0)
"""US dollars for a million tokens: new, cached, put out."""
WORDS = {
    "bad_request": "invalid_request",
    "login": "authentication_failed",
    "forbidden": "authentication_failed",
    "not_found": "invalid_request",
    "rate_limit": "rate_limit",
    "server": "server_error",
    "overloaded": "overloaded",
    "too_long": "invalid_request",
}
"""What Claude Code calls a provider's error."""
Record = dict[str, Any]


def new_uuid() -> str:
    """A random id in the usual form. (The module for it takes longer to import than the agent has.)"""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def cost_of(usage: Usage) -> float:
    new, cached, output = PRICES
    return round((usage.input * new + usage.cached * cached + usage.output * output) / 1_000_000, 8)


def total_of(usages: Sequence[Usage]) -> Usage:
    return Usage(
        input=sum(each.input for each in usages),
        cached=sum(each.cached for each in usages),
        output=sum(each.output for each in usages),
    )


class Records:
    """Makes the records of one session."""

    def __init__(self, session: str, model: str) -> None:
        self.session = session
        self.model = model
        self._results = 0

    def init(self, *, read_only: bool) -> Record:
        return {
            "type": "system",
            "subtype": "init",
            "cwd": os.getcwd(),
            "tools": list(TOOLS),
            "mcp_servers": [],
            "model": self.model,
            "permissionMode": "plan" if read_only else "bypassPermissions",
            "apiKeySource": "none",
            **self._end(),
        }

    def replay(self, words: str, message_id: str) -> Record:
        """An acknowledgement: the model hears this message now."""
        content = [{"type": "text", "text": words}]
        return {**self._user(content), "isReplay": True, "uuid": message_id or new_uuid()}

    def interrupted(self) -> Record:
        return self._user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])

    def assistant(self, message_id: str, block: Mapping[str, Any], usage: Usage) -> Record:
        """One block of a message. As in the real stream, the output tokens are told only by the result."""
        return {"type": "assistant", "message": self._message(message_id, block, usage), **self._told()}

    def api_failure(self, words: str, fault: Fault | None) -> Record:
        message = self._message(new_uuid(), {"type": "text", "text": words}, Usage(input=0, cached=0, output=0))
        return {
            "type": "assistant",
            "message": {**message, "model": "<synthetic>"},
            "error": WORDS[fault.kind] if fault else "unknown",
            "is_api_error_message": True,
            "api_error_status": fault.status if fault else None,
            **self._told(),
        }

    def tool_result(self, use: ToolUse, words: str, *, failed: bool) -> Record:
        block = {"type": "tool_result", "tool_use_id": use.id, "content": words, "is_error": failed}
        return self._user([block])

    def retry(self, attempt: int, most: int, seconds: float, fault: Fault | None) -> Record:
        return {
            "type": "system",
            "subtype": "api_retry",
            "attempt": attempt,
            "max_retries": most,
            "retry_delay_ms": round(seconds * 1000),
            "error_status": fault.status if fault else None,
            "error": WORDS[fault.kind] if fault else "unknown",
            **self._end(),
        }

    def control_response(self, request_id: Any) -> Record:
        response = {"subtype": "success", "request_id": request_id, "response": {"still_queued": []}}
        return {"type": "control_response", "response": response}

    def result(
        self,
        *,
        subtype: str,
        reason: str,
        failed: bool,
        requests: int,
        seconds: float,
        usages: Sequence[Usage],
        before: Usage,
        words: str = "",
        errors: Sequence[str] = (),
        status: int | None = None,
        structured: Any = None,
    ) -> Record:
        """The last record of a turn. Tokens are the turn's own, the cost is the session's, as in version 2.1.325."""
        own = total_of(usages)
        record: Record = {
            "type": "result",
            "subtype": subtype,
            "is_error": failed,
            "terminal_reason": reason,
            "api_error_status": status,
            "num_turns": requests,
            "duration_ms": round(seconds * 1000),
            "stop_reason": "end_turn" if not failed else None,
            "total_cost_usd": round(cost_of(before) + cost_of(own), 8),
            "usage": _usage(own),
            "modelUsage": {self.model: _model_usage(total_of((before, own)))},
            "model_usage_since_last_result": {self.model: _model_usage(own)},
            "permission_denials": [],
            "result_index": self._results,
            **self._end(),
        }
        if subtype == "success":
            record["result"] = words
        else:
            record["errors"] = list(errors)
        if structured is not None:
            record["structured_output"] = structured
        self._results += 1
        return record

    def _message(self, message_id: str, block: Mapping[str, Any], usage: Usage) -> Record:
        return {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [dict(block)],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**_usage(usage), "output_tokens": 1},
        }

    def _user(self, content: list[Record]) -> Record:
        return {"type": "user", "message": {"role": "user", "content": content}, **self._told()}

    def _told(self) -> Record:
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        return {"parent_tool_use_id": None, "timestamp": f"{stamp}.{int(now * 1000) % 1000:03d}Z", **self._end()}

    def _end(self) -> Record:
        return {"session_id": self.session, "uuid": new_uuid()}


def _usage(usage: Usage) -> Record:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def _model_usage(usage: Usage) -> Record:
    return {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cacheReadInputTokens": usage.cached,
        "cacheCreationInputTokens": 0,
        "costUSD": cost_of(usage),
        "contextWindow": 200_000,
    }
