"""What does Codex keep on disk? (`~/.codex/sessions/Y/M/D/rollout-*.jsonl`)

Model items (`response_item`) carry the words and the calls, events carry the ends, the exit codes and the tokens.
Newer versions mark each task's start and end; in logs without such marks a turn begins at a person's message and
has finished when the agent's words come last.
"""

from __future__ import annotations

from collections.abc import Mapping

from touchline.supervision.facts import Ended, Turn, Usage
from touchline.transcripts.codex_items import args_of, command_of, failed_item, output_of
from touchline.transcripts.codex_usage import ThreadUsage
from touchline.transcripts.ending import End
from touchline.transcripts.faults import kind_of, status_in
from touchline.transcripts.gathering import Gathering
from touchline.transcripts.session_log import end_of
from touchline.transcripts.shapes import identifier, items, joined_text, mapping, moment, text, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

IGNORED = frozenset({"world_state", "compacted", "ghost_snapshot", "inter_agent_communication_metadata", "state"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "mcp_tool_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_tool_call_output"})
NOT_A_PERSON = ("<", "# AGENTS.md instructions")
"""How user items begin that Codex wrote itself, where the log does not say who did."""
SPOKEN = End(ended=Ended.FINISHED, detail="the agent's words come last")


class CodexLog:
    """The records of one thread."""

    def __init__(self) -> None:
        self.open: Gathering | None = None
        self._said: End | None = None
        self._usage = ThreadUsage()
        self._marked = False
        self._prompted = False
        self._session: str | None = None
        self._cwd: str | None = None
        self._model: str | None = None
        self._called: set[str] = set()
        self._answered: set[str] = set()

    def read(self, record: Mapping[str, Any]) -> Turn | None:
        kind = text(record.get("type"))
        payload = mapping(record.get("payload"))
        if kind == "response_item":
            return self._item(payload, moment(record.get("timestamp")))
        if kind == "event_msg":
            return self._event(payload, moment(record.get("timestamp")))
        if kind == "session_meta":
            self._session = self._session or identifier(payload.get("id"))
            self._cwd = text(payload.get("cwd")) or self._cwd
        elif kind == "turn_context":
            self._cwd = text(payload.get("cwd")) or self._cwd
            self._model = text(payload.get("model")) or self._model
            if self.open is not None and not self._called:
                self.open.model, self.open.cwd = self._model, self._cwd
        elif kind == "token_usage_record":
            self._spend(self._usage.own(payload))
        elif kind not in IGNORED:
            raise ValueError(f"unknown record type {kind!r}")
        return None

    def close(self, *, overtaken: bool = False) -> Turn | None:
        turn, said = self.open, self._said
        self.open, self._said, self._prompted = None, None, False
        self._called, self._answered = set(), set()
        if turn is None or not turn.events:
            return None
        return turn.turn(end_of(None if said is SPOKEN and self._marked else said, overtaken=overtaken))

    def _begin(self) -> Gathering:
        self.open = turn = Gathering("codex")
        turn.session_id, turn.cwd, turn.model = self._session, self._cwd, self._model
        return turn

    def _event(self, event: Mapping[str, Any], at: datetime | None) -> Turn | None:
        kind = event.get("type")
        closed = None
        if kind in ("task_started", "turn_started"):
            closed = self.close(overtaken=True)
            self._marked = True
            self._begin().seen(at)
        elif self.open is None:
            return None
        elif kind in ("task_complete", "turn_complete"):
            self.open.seen(at)
            error = event.get("error")
            self._said = self._failed(mapping(error), at) if error else End(ended=Ended.FINISHED, detail=text(kind))
        elif kind == "turn_aborted":
            self.open.seen(at)
            self._said = End(ended=Ended.INTERRUPTED, detail=text(event.get("reason")) or "turn_aborted")
        elif kind == "item_completed":
            self._done(mapping(event.get("item")), at)
        elif kind == "exec_command_end":
            self._answer(event, at)
        elif kind == "token_count":
            info = mapping(event.get("info"))
            if mapping(info.get("total_token_usage")):
                self._spend(self._usage.added(info.get("total_token_usage"), info.get("last_token_usage")))
        elif kind in ("error", "stream_error"):
            message = text(event.get("message"))
            status = status_in(message)
            word = identifier(event.get("codex_error_info"))
            self.open.fault(kind_of(status=status, word=word, message=message), message, status=status, at=at)
        return closed

    def _failed(self, error: Mapping[str, Any], at: datetime | None) -> End:
        info, message = error.get("codex_error_info"), text(error.get("message"))
        word, status = identifier(info), status_in(message)
        for name, more in mapping(info).items():
            word = name
            status = whole(mapping(more).get("http_status_code")) or status
        kind = kind_of(status=status, word=word, message=message)
        if self.open is not None:
            self.open.fault(kind, message, status=status, fatal=True, at=at)
        detail = "prompt_too_long" if kind == "context" else f"api {status}" if status else word or "failed"
        return End(ended=Ended.API_ERROR, detail=detail)

    def _item(self, item: Mapping[str, Any], at: datetime | None) -> Turn | None:
        kind = text(item.get("type"))
        if kind == "message":
            return self._message(item, at)
        turn = self.open
        if turn is None:
            return None
        if kind in CALLS:
            turn.seen(at)
            self._call(turn, item, at)
        elif kind in OUTPUTS:
            turn.seen(at)
            self._said = None
            call_id = identifier(item.get("call_id")) or ""
            if call_id not in self._answered:
                self._answered.add(call_id)
                words, exit_code, failed = output_of(item.get("output"))
                turn.result(call_id, words, failed=failed, exit_code=exit_code, at=at)
        return None

    def _message(self, item: Mapping[str, Any], at: datetime | None) -> Turn | None:
        role = item.get("role")
        if role == "assistant":
            turn = self.open or self._begin()
            turn.seen(at)
            turn.text(joined_text(item.get("content")), message_id=identifier(item.get("id")), at=at)
            self._said = SPOKEN
            return None
        if role != "user":
            return None
        words = joined_text(item.get("content"))
        if not words or not _by_a_person(item, words):
            return None
        closed = None
        if self.open is None or not self._marked:
            closed = self.close(overtaken=True)
            self._begin()
        if self.open is not None:
            self.open.seen(at)
            self.open.prompt(words, at=at)
        return closed

    def _call(self, turn: Gathering, item: Mapping[str, Any], at: datetime | None) -> None:
        call_id = identifier(item.get("call_id")) or identifier(item.get("id")) or f"unnamed_{turn.added}"
        self._called.add(call_id)
        self._said = None
        if item.get("type") == "local_shell_call":
            args: Any = {"command": command_of(mapping(item.get("action")).get("command"))}
        else:
            args = args_of(item.get("arguments", item.get("input")))
        turn.call(call_id, text(item.get("name")) or text(item.get("type")), args, at=at)

    def _done(self, item: Mapping[str, Any], at: datetime | None) -> None:
        """A finished command or patch: its exit code and whole output, ahead of what the model is shown."""
        kind = item.get("type")
        if kind == "CommandExecution":
            self._answer({**item, "call_id": item.get("id")}, at)
        elif kind == "FileChange" and self.open is not None:
            call_id = identifier(item.get("id")) or ""
            if call_id not in self._called:
                self._called.add(call_id)
                self.open.call(call_id, "apply_patch", {"changes": item.get("changes")}, at=at)
            self._answered.add(call_id)
            words = text(item.get("stdout")) + text(item.get("stderr"))
            self.open.result(call_id, words, failed=failed_item(item), at=at)

    def _answer(self, done: Mapping[str, Any], at: datetime | None) -> None:
        turn = self.open
        call_id = identifier(done.get("call_id")) or ""
        if turn is None or call_id in self._answered:
            return
        if call_id not in self._called:
            self._called.add(call_id)
            turn.call(call_id, "command_execution", {"command": command_of(done.get("command"))}, at=at)
        self._answered.add(call_id)
        words = done.get("aggregated_output")
        if not isinstance(words, str):
            words = text(done.get("stdout")) + text(done.get("stderr"))
        code = whole(done.get("exit_code"))
        turn.result(call_id, words, failed=failed_item(done), exit_code=code, at=at)

    def _spend(self, usage: Usage) -> None:
        if self.open is not None:
            self.open.spend(usage, self._model)


def skip(line: bytes) -> bool:
    """The model's encrypted thoughts are a large part of a log and tell nothing; only plain fields precede them."""
    return line.find(b'"type":"response_item","payload":{"type":"reasoning"', 0, 160) > 0


def _by_a_person(item: Mapping[str, Any], words: str) -> bool:
    passed = mapping(item.get("internal_chat_message_metadata_passthrough"))
    authors = [
        mapping(mapping(entry).get("provenance")).get("type") for entry in items(passed.get("content_item_metadata"))
    ]
    if authors and any(isinstance(author, str) for author in authors):
        return "user" in authors
    return not words.lstrip().startswith(NOT_A_PERSON)
