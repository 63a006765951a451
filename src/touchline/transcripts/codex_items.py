"""What is an item of Codex?

Commands, patches and tool calls as Codex describes them when they are done, in its stream and in newer logs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from touchline.supervision.remembering import cache
from touchline.transcripts.decode import BROKEN, decode
from touchline.transcripts.shapes import joined_text, mapping, text, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAILED = frozenset({"failed", "declined", "error"})
REFUSED = ("patch rejected:", "apply_patch verification failed:", "Command blocked by PreToolUse hook:")
"""How the output of a call that was not carried out begins: it has no flag and no exit code."""


def command_of(value: Any) -> str:
    """The command the agent gave, without the shell that Codex puts around it."""
    if isinstance(value, list):
        parts = [text(part) for part in value]
    elif isinstance(value, str):
        if not re.match(r"\S*sh -l?c ", value):
            return value
        try:
            parts = shlex.split(value)
        except ValueError:
            return value
    else:
        return ""
    if len(parts) == 3 and parts[0].endswith("sh") and parts[1] in ("-lc", "-c"):
        return parts[2]
    return value if isinstance(value, str) else shlex.join(parts)


def failed_item(item: Mapping[str, Any]) -> bool:
    return text(item.get("status")) in FAILED or bool(item.get("error"))


@cache
def _header() -> re.Pattern[str]:
    return re.compile(
        r"(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?"
        r"(?:Process exited with code (?P<ended>-?\d{1,4})"
        r"|Process running with session ID .*|Exit code: (?P<code>-?\d{1,4}))\n"
        r"(?:Wall time: .*\n)?(?:Original token count: .*\n)?(?:Total output lines: .*\n)?(?:Output:\n)?"
    )


def output_of(value: Any) -> tuple[str, int | None, bool]:
    """Text, exit code and failure of a call's output.

    Codex writes times and chunk ids above the text: they are taken off, or no two results would ever be equal.
    """
    failed = False
    if isinstance(value, dict):
        failed = value.get("success") is False
        value = value.get("content", value.get("output"))
    words = joined_text(value)
    if words.startswith('{"output"'):
        inner = decode(words.encode("utf-8", "replace"))
        if inner is not BROKEN and isinstance(inner, dict):
            code = whole(mapping(inner.get("metadata")).get("exit_code"))
            return text(inner.get("output")), code, failed
    found = _header().match(words)
    if found is None:
        return words, None, failed or words.startswith(REFUSED)
    code_words = found["ended"] or found["code"]
    return words[found.end() :], int(code_words) if code_words else None, failed


def args_of(value: Any) -> Any:
    """A call's arguments: Codex writes them as JSON inside a text, or as a plain text for custom tools."""
    if not isinstance(value, str):
        return value
    parsed = decode(value.encode("utf-8", "replace"))
    return parsed if isinstance(parsed, dict) else {"input": value}
