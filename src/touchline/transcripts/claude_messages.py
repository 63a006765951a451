"""What does a message of Claude Code hold?

The blocks of assistant and user messages are the same in the live stream and in the session log.
"""

from __future__ import annotations

from touchline.supervision.facts import Notice, Usage
from touchline.supervision.prepared import shape
from touchline.transcripts.gathering import NO_USAGE, Gathering, less
from touchline.transcripts.shapes import count, identifier, items, joined_text, mapping, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

SYNTHETIC = "<synthetic>"
"""Stands in the model's place on messages that the CLI wrote itself."""
_EXIT_CODE = shape(r"Exit code (\d{1,3})(?:\n|$)")
MESSAGES_REMEMBERED = 512
"""Message ids whose tokens are still compared; repeats come close together."""


def usage_of(value: Any) -> Usage:
    """Tokens as the API names them; `input_tokens` leaves out everything cached."""
    usage = mapping(value)
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
    )


class MessageUsage:
    """Counts the tokens of each message once, although every block repeats them.

    A later record of the same message may know more; only what it adds is counted.
    """

    def __init__(self) -> None:
        self._counted: dict[str, Usage] = {}
        self._last: tuple[Any, Any] = (None, None)

    def count(self, turn: Gathering, message: Mapping[str, Any], model: str | None) -> None:
        told = message.get("usage")
        if not isinstance(told, dict) or self._last == (message.get("id"), told):
            return
        usage = usage_of(told)
        message_id = identifier(message.get("id"))
        if message_id is not None:
            self._last = (message.get("id"), told)
            before = self._counted.get(message_id, NO_USAGE)
            if len(self._counted) >= MESSAGES_REMEMBERED:
                del self._counted[next(iter(self._counted))]
            self._counted[message_id] = usage
            if before is not NO_USAGE:
                usage = less(usage, before)
        turn.spend(usage, model)


def add_assistant(
    turn: Gathering, message: Mapping[str, Any], *, at: datetime | None, subagent: bool, words: bool
) -> bool:
    """Add the texts (where `words`) and calls of an assistant message; True when it called a tool."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    called = False
    message_id = identifier(message.get("id"))
    for block in items(content):
        if not isinstance(block, dict):
            continue
        kind = text(block.get("type"))
        if kind == "text":
            if words:
                turn.text(text(block.get("text")), message_id=message_id, at=at)
        elif kind.endswith("tool_use"):
            called = True
            call_id = identifier(block.get("id")) or f"unnamed_{turn.added}"
            turn.call(call_id, text(block.get("name")), block.get("input"), at=at, subagent=subagent)
        elif kind.endswith("tool_result"):
            add_result(turn, block, at=at)
    return called


def add_result(turn: Gathering, block: Mapping[str, Any], *, at: datetime | None) -> None:
    """Add what a tool returned. The exit code of a failed command stands on the first line of its text."""
    words = joined_text(block.get("content"))
    failed = block.get("is_error") is True
    found = _EXIT_CODE.match(words) if failed else None
    turn.result(
        identifier(block.get("tool_use_id")) or "",
        words,
        failed=failed,
        exit_code=int(found[1]) if found else None,
        at=at,
    )


def add_results(turn: Gathering, content: Any, *, at: datetime | None) -> bool:
    """Add every tool result among the blocks of a user message; True when there was one."""
    found = False
    for block in items(content):
        if isinstance(block, dict) and text(block.get("type")).endswith("tool_result"):
            add_result(turn, block, at=at)
            found = True
    return found


def notice_of(
    call_id: str | None, status: str, summary: str, output: str, *, at: datetime | None = None
) -> Notice | None:
    """How a command in the background ended; None when it was something else that ended, or in another way.

    The summary quotes the agent's own description of the command, so that only what stands after it counts, and only
    together with the status: of a helper, and of a command that was stopped, all of the summary is the agent's words.
    """
    ended = r'(?s)Background command ".*" (?:completed \(exit code (0)\)|failed with exit code (\d{1,5}))\Z'
    found = shape(ended).match(summary)
    if not found or not call_id or not output:
        return None
    code = int(found[1] or found[2])
    if status != ("failed" if code else "completed"):
        return None
    return Notice(call_id=call_id, exit_code=code, output=output, at=at)


def notice_in(words: str, *, at: datetime | None = None) -> Notice | None:
    """The same out of the text that the agent is given. Whether the CLI wrote that text its record must tell."""
    written = (
        r"<task-notification>\n<task-id>[^<\n]+</task-id>\n<tool-use-id>([^<\n]+)</tool-use-id>\n"
        r"<output-file>([^<\n]+)</output-file>\n<status>([a-z]+)</status>\n<summary>([^<]+)</summary>\n"
        r"</task-notification>\s*\Z"
    )
    found = shape(written).match(words)
    return notice_of(found[1], found[3], found[4], found[2], at=at) if found else None


def words_of(content: Any) -> str:
    """What a user message says beside tool results."""
    if isinstance(content, list):
        content = [b for b in content if not (isinstance(b, dict) and b.get("type") == "tool_result")]
    return joined_text(content)
