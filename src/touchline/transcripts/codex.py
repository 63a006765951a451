"""What does Codex print? (`codex exec --json`)

`turn.completed` and `turn.failed` are the only ends; top-level errors are mostly notes of a reconnection. Tokens
are told once, at the end, summed over the thread: of a resumed thread the turn's own share cannot be known from
the stream alone, unless the caller says what was counted before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from touchline.supervision.facts import Ended, Usage
from touchline.transcripts.codex_items import command_of, failed_item
from touchline.transcripts.codex_usage import usage_of
from touchline.transcripts.ending import End, Process
from touchline.transcripts.faults import kind_of, status_in
from touchline.transcripts.gathering import NO_USAGE, Gathering, less
from touchline.transcripts.shapes import identifier, joined_text, mapping, text, whole

SILENT_ITEMS = frozenset({"reasoning", "todo_list"})


class CodexRecords:
    """The records of one run. `counted` is the thread's usage before it, when it resumes one."""

    def __init__(self, *, counted: Usage = NO_USAGE) -> None:
        self.turn = Gathering("codex")
        self._counted = counted
        self._final: End | None = None
        self._open: set[str] = set()

    def read(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        if kind in ("item.started", "item.completed", "item.updated"):
            return self._item(mapping(record.get("item")), done=kind == "item.completed")
        if kind == "thread.started":
            self.turn.session_id = identifier(record.get("thread_id"))
        elif kind == "turn.started":
            self._final = None
        elif kind == "turn.completed":
            total = usage_of(record.get("usage"))
            self.turn.spend(less(total, self._counted))
            self._counted = total
            self._final = End(ended=Ended.FINISHED, detail="completed")
        elif kind == "turn.failed":
            self._failed(text(mapping(record.get("error")).get("message")))
        elif kind == "error":
            message = text(record.get("message"))
            status = status_in(message)
            self.turn.fault(kind_of(status=status, message=message), message, status=status)
        else:
            return False
        return True

    def end(self, _process: Process, /) -> End | None:
        return self._final

    def _failed(self, message: str) -> None:
        status = status_in(message)
        kind = kind_of(status=status, message=message)
        self.turn.fault(kind, message, status=status, fatal=True)
        detail = "prompt_too_long" if kind == "context" else f"api {status}" if status else "turn failed"
        self._final = End(ended=Ended.API_ERROR, detail=detail)

    def _item(self, item: Mapping[str, Any], *, done: bool) -> bool:
        kind = text(item.get("type"))
        item_id = identifier(item.get("id")) or f"unnamed_{self.turn.added}"
        if kind == "agent_message":
            if done:
                self.turn.text(text(item.get("text")), message_id=item_id)
        elif kind == "error":
            self.turn.fault("other", text(item.get("message")))
        elif kind in SILENT_ITEMS:
            pass
        elif kind in ("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"):
            self._call(kind, item, item_id, done=done)
        else:
            return False
        return True

    def _call(self, kind: str, item: Mapping[str, Any], item_id: str, *, done: bool) -> None:
        if item_id not in self._open:
            self._open.add(item_id)
            self.turn.call(item_id, _tool(kind, item), _args(kind, item))
        if done:
            # Item ids begin again at 0 when a thread is resumed in the same output.
            self._open.discard(item_id)
            self.turn.result(item_id, _output(item), failed=failed_item(item), exit_code=whole(item.get("exit_code")))


def _tool(kind: str, item: Mapping[str, Any]) -> str:
    if kind != "mcp_tool_call":
        return kind
    return f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}"


def _args(kind: str, item: Mapping[str, Any]) -> Any:
    if kind == "command_execution":
        return {"command": command_of(item.get("command"))}
    if kind == "file_change":
        return {"changes": item.get("changes")}
    if kind == "mcp_tool_call":
        return item.get("arguments")
    return {"query": item.get("query")} if kind == "web_search" else {"prompt": item.get("prompt")}


def _output(item: Mapping[str, Any]) -> str:
    if "aggregated_output" in item:
        return text(item.get("aggregated_output"))
    error, result = item.get("error"), mapping(item.get("result"))
    return joined_text(result.get("content")) or text(error) or text(mapping(error).get("message"))
