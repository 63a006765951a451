"""What does Claude Code print? (`--output-format stream-json` and `json`)

The `result` record decides how the turn ended: `is_error` counts, not `subtype`, because API failures come as
`success`. Tokens and cost come from it too, since the messages before it carry placeholders. A run of several
prompts folds into one turn, whose end is that of its last result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchline.supervision.facts import Ended, FaultKind, Usage
from touchline.transcripts.claude_messages import (
    SYNTHETIC,
    MessageUsage,
    add_assistant,
    add_results,
    notice_of,
    usage_of,
    words_of,
)
from touchline.transcripts.ending import End, Process
from touchline.transcripts.faults import kind_of
from touchline.transcripts.gathering import NO_USAGE, Gathering, less
from touchline.transcripts.shapes import count, identifier, items, mapping, moment, money, text, whole

IGNORED = frozenset(
    {
        "stream_event",
        "control_request",
        "control_response",
        "control_cancel_request",
        "command_lifecycle",
        "keep_alive",
        "tool_progress",
        "tool_use_summary",
        "auth_status",
        "rate_limit_event",
        "prompt_suggestion",
    }
)
LIMITS = {"error_max_turns": "max_turns", "error_max_budget_usd": "max_budget_usd"}
CONTEXT_ENDS = frozenset({"prompt_too_long", "blocking_limit"})


class ClaudeRecords:
    """The records of one run. `told_usd` is the cost that an earlier result of the same process told."""

    def __init__(self, *, told_usd: float | None = None) -> None:
        self.turn = Gathering("claude")
        self.told_usd = told_usd
        self.results = 0
        self._final: End | None = None
        self._messages = MessageUsage()
        self._before = NO_USAGE
        self._denied: set[str] = set()
        self._spoke = False

    def read(self, record: Mapping[str, Any]) -> bool:
        kind = text(record.get("type"))
        if kind in IGNORED:
            return True
        at = self.turn.seen(moment(record.get("timestamp"))) if "timestamp" in record else None
        if self.turn.session_id is None:
            self.turn.session_id = identifier(record.get("session_id"))
        if kind == "assistant":
            self._assistant(record, at)
        elif kind == "user":
            self._user(record, at)
        elif kind == "result":
            self._result(record)
        elif kind == "system":
            self._system(record, at)
        else:
            return False
        return True

    def end(self, _process: Process, /) -> End | None:
        return self._final

    def _system(self, record: Mapping[str, Any], at: Any) -> None:
        """Only what bears on the turn; status lines, hooks and notices are dropped."""
        kind = record.get("subtype")
        if kind == "init":
            self.turn.session_id = identifier(record.get("session_id")) or self.turn.session_id
            self.turn.model = text(record.get("model")) or self.turn.model
            self.turn.cwd = text(record.get("cwd")) or self.turn.cwd
        elif kind == "api_retry":
            status, word = whole(record.get("error_status")), text(record.get("error"))
            # A retry without status or word is a connection that broke.
            lost = status is None and word in ("", "unknown")
            fault: FaultKind = "network" if lost else kind_of(status=status, word=word)
            message = f"retry {count(record.get('attempt'))} of {count(record.get('max_retries'))}: {word}"
            self.turn.fault(fault, message, status=status, at=at)
        elif kind == "permission_denied":
            self._denied.add(identifier(record.get("tool_use_id")) or "")
            self.turn.fault("permission", text(record.get("message")), at=at)
        elif kind == "task_notification":
            call_id, output = identifier(record.get("tool_use_id")), text(record.get("output_file"))
            told = notice_of(call_id, text(record.get("status")), text(record.get("summary")), output, at=at)
            if told is not None:
                self.turn.add(told)

    def _assistant(self, record: Mapping[str, Any], at: Any) -> None:
        message = mapping(record.get("message"))
        subagent = record.get("parent_tool_use_id") is not None
        if not subagent:
            self._final = None
        model = text(message.get("model")) or None
        if model == SYNTHETIC:
            return
        self.turn.model = self.turn.model or model
        self._messages.count(self.turn, message, model)
        add_assistant(self.turn, message, at=at, subagent=subagent, words=not subagent)
        self._spoke = self._spoke or not subagent

    def _user(self, record: Mapping[str, Any], at: Any) -> None:
        content = mapping(record.get("message")).get("content")
        add_results(self.turn, content, at=at)
        if record.get("parent_tool_use_id") is not None:
            return
        self._final = None
        words = words_of(content)
        if words and not words.startswith("[Request interrupted by user"):
            self.turn.prompt(words, at=at, synthetic=record.get("isSynthetic") is True)

    def _result(self, record: Mapping[str, Any]) -> None:
        self.results += 1
        self._count(record)
        for denial in items(record.get("permission_denials")):
            call_id = identifier(mapping(denial).get("tool_use_id")) or ""
            if call_id not in self._denied:
                self._denied.add(call_id)
                self.turn.fault("permission", f"{text(mapping(denial).get('tool_name'))} was denied")
        words = text(record.get("result"))
        if words and not self._spoke and record.get("is_error") is not True:
            self.turn.text(words)
        self._spoke = False
        self._final = self._end_of(record, words)

    def _end_of(self, record: Mapping[str, Any], words: str) -> End:
        subtype, reason = text(record.get("subtype")), text(record.get("terminal_reason"))
        failed = record.get("is_error")
        if not isinstance(failed, bool):
            failed = subtype != "success"
        if not failed:
            return End(ended=Ended.FINISHED, detail=reason)
        if subtype in LIMITS:
            return End(ended=Ended.LIMIT, detail=LIMITS[subtype])
        if reason.startswith("aborted"):
            return End(ended=Ended.INTERRUPTED, detail=reason)
        message = words or "; ".join(text(error) for error in items(record.get("errors")))
        if subtype != "success":
            self.turn.fault("other", message, fatal=True)
            return End(ended=Ended.CRASHED, detail=message or subtype)
        status = whole(record.get("api_error_status"))
        word = "prompt_too_long" if reason in CONTEXT_ENDS else text(record.get("api_error_type"))
        kind = kind_of(status=status, word=word, message=message)
        self.turn.fault(kind, message, status=status, fatal=True)
        detail = "prompt_too_long" if kind == "context" else f"api {status}" if status else "api_error"
        return End(ended=Ended.API_ERROR, detail=detail)

    def _count(self, record: Mapping[str, Any]) -> None:
        """Tokens and cost of this result alone: versions differ in what they sum up over a resume."""
        own = usage_of(record.get("usage"))
        since = mapping(record.get("model_usage_since_last_result"))
        summed = since or mapping(record.get("modelUsage"))
        by_model = {name: _model_usage(value) for name, value in summed.items()}
        if since and text(record.get("terminal_reason")).startswith("aborted"):
            # Interrupted before the provider's last word on a message, the CLI leaves that message out of its own sum.
            own = max(own, sum(by_model.values(), NO_USAGE), key=lambda usage: usage.total)
        counted = self.turn.usage
        self.turn.spend(less(own, less(counted, self._before)), self.turn.model or next(iter(by_model), None))
        self._before = self.turn.usage
        total = money(record.get("total_cost_usd"))
        if since or "model_usage_since_last_result" in record:
            costs = [money(mapping(value).get("costUSD")) for value in since.values()]
            self.turn.charge(sum(cost for cost in costs if cost is not None))
        elif total is not None:
            if self.told_usd is not None:
                self.turn.charge(max(0.0, total - self.told_usd))
            # Versions that number their results sum the cost over a resume; it is the turn's own only when the
            # tokens beside it are. Older ones count per process.
            elif "result_index" not in record or not by_model or own in by_model.values():
                self.turn.charge(total)
        self.told_usd = total if total is not None else self.told_usd


def _model_usage(value: Any) -> Usage:
    usage = mapping(value)
    return Usage(
        input=count(usage.get("inputTokens")),
        output=count(usage.get("outputTokens")),
        cache_read=count(usage.get("cacheReadInputTokens")),
        cache_write=count(usage.get("cacheCreationInputTokens")),
    )
