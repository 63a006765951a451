"""What does the scripted agent do with a prompt? Asks the script, uses tools, hears messages, until it is done."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchline.rehearsal.agent_inbox import Message
from touchline.rehearsal.agent_memory import Memory
from touchline.rehearsal.agent_records import TOOLS, Record, Records, new_uuid, total_of
from touchline.rehearsal.agent_tools import Tools
from touchline.rehearsal.play import play
from touchline.rehearsal.tool_names import structured_use, use_for
from touchline.rehearsal.turns import Reply, Script, Usage
from touchline.rehearsal.wire import Asked, ToolUse

LASTING = frozenset({"bad_request", "login", "forbidden", "not_found", "too_long"})
"""Errors that the same request would meet again."""
RETRY_SECONDS = 0.05
STOPPED = "The call was stopped while it ran; it may have run in part or in full."


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a turn may ask."""

    requests: int | None = None
    """Replies of the model, at most; None sets no limit."""
    retries: int = 2
    """How often a failed request is repeated."""


@dataclass(slots=True, kw_only=True)
class AgentTurn:
    """One turn of a session: from a prompt to its result."""

    script: Script
    memory: Memory
    records: Records
    tools: Tools
    emit: Callable[[Record], None]
    waiting: Callable[[], list[Message]]
    """Takes what was said since it was called last."""
    interrupted: threading.Event
    limits: Limits
    structured: bool
    """A structured answer is wanted."""
    replay: bool
    """Messages are printed when the model hears them."""
    _began: float = field(default_factory=time.monotonic)
    _usages: list[Usage] = field(default_factory=list)
    _before: Usage = field(default_factory=Usage)

    def run(self, prompt: Message) -> bool:
        """Run it and print its result; True when it failed."""
        self._before = total_of(self.memory.usages())
        self._hear([prompt])
        attempts = 0
        while True:
            if self.limits.requests is not None and len(self._usages) >= self.limits.requests:
                message = f"Reached maximum number of turns ({self.limits.requests})"
                return self._result("error_max_turns", "max_turns", errors=[message], more_requests=1)
            given = {"workspace": os.getcwd(), "run": self.records.session}
            reply = play(self.script, self.memory.told(), failed=self.memory.failed(), given=given)
            if self.interrupted.wait(reply.delay + reply.stall):
                return self._result("error_during_execution", "aborted_streaming", errors=["Request was aborted."])
            if reply.fault is not None or reply.drop:
                self.memory.failure(reply.turn)
                attempts += 1
                if attempts > self.limits.retries or (reply.fault and reply.fault.kind in LASTING):
                    return self._api_error(reply)
                self._retry(attempts, reply)
                continue
            attempts = 0
            if (over := self._play(reply)) is not None:
                return over

    def _play(self, reply: Reply) -> bool | None:
        """Say the reply and use its tools. None when the turn goes on."""
        asked = Asked(told=(), tools=TOOLS if not self.structured else (*TOOLS, "StructuredOutput"))
        uses = [use_for(call, asked, reply=reply.number) for call in reply.calls]
        answer = structured_use(reply.json, asked, reply=reply.number) if reply.json is not None else None
        text = reply.text
        if reply.json is not None and answer is None:
            import json

            text = json.dumps(reply.json, ensure_ascii=False)
        self._say(reply, text, [*uses, *([answer] if answer else [])])
        if answer is not None:
            done = "Structured output provided successfully"
            self.memory.results([(answer.id, done, False)])
            self.emit(self.records.tool_result(answer, done, failed=False))
            return self._result("success", "completed", words=text, structured=reply.json)
        if not uses:
            return self._result("success", "completed", words=text)
        if not self._use(uses):
            self.emit(self.records.interrupted())
            return self._result("error_during_execution", "aborted_tools", errors=["Request was aborted."])
        self._hear(self.waiting())
        return None

    def _say(self, reply: Reply, text: str, uses: Sequence[ToolUse]) -> None:
        self._usages.append(reply.usage)
        self.memory.reply(text, uses, reply.usage)
        blocks: list[dict[str, Any]] = []
        if reply.thinking:
            blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": ""})
        if text:
            blocks.append({"type": "text", "text": text})
        blocks += [{"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.args)} for use in uses]
        message_id = f"msg_{new_uuid()}"
        for block in blocks:
            self.emit(self.records.assistant(message_id, block, reply.usage))

    def _use(self, uses: Sequence[ToolUse]) -> bool:
        """Use the tools, one after the other; False when that was stopped."""
        results = []
        for use in uses:
            words, failed = (STOPPED, True) if self.interrupted.is_set() else self.tools.use(use)
            if self.interrupted.is_set():
                words, failed = STOPPED, True
            results.append((use.id, words, failed))
            self.emit(self.records.tool_result(use, words, failed=failed))
        self.memory.results(results)
        return not self.interrupted.is_set()

    def _hear(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self.memory.user(message.words)
            if self.replay:
                self.emit(self.records.replay(message.words, message.id))

    def _retry(self, attempt: int, reply: Reply) -> None:
        seconds = RETRY_SECONDS * 2 ** (attempt - 1)
        if reply.fault is not None and reply.fault.retry_after is not None:
            seconds = reply.fault.retry_after
        self.emit(self.records.retry(attempt, self.limits.retries, seconds, reply.fault))
        self.interrupted.wait(seconds)

    def _api_error(self, reply: Reply) -> bool:
        fault = reply.fault
        words = (
            "API Error: the connection was closed" if fault is None else f"API Error: {fault.status} {fault.message}"
        )
        self.emit(self.records.api_failure(words, fault))
        reason = "prompt_too_long" if fault is not None and fault.kind == "too_long" else "api_error"
        return self._result("success", reason, failed=True, words=words, status=fault.status if fault else None)

    def _result(
        self,
        subtype: str,
        reason: str,
        *,
        failed: bool | None = None,
        words: str = "",
        errors: Sequence[str] = (),
        status: int | None = None,
        structured: Any = None,
        more_requests: int = 0,
    ) -> bool:
        failed = subtype != "success" if failed is None else failed
        self.emit(
            self.records.result(
                subtype=subtype,
                reason=reason,
                failed=failed,
                requests=len(self._usages) + more_requests,
                seconds=time.monotonic() - self._began,
                usages=self._usages,
                before=self._before,
                words=words,
                errors=errors,
                status=status,
                structured=structured,
            )
        )
        return failed
