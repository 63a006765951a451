"""How is a call told in one line?"""

from __future__ import annotations

import json
from collections.abc import Iterable

from touchline.audit.findings import CallFinding
from touchline.audit.visible import one_line
from touchline.supervision.facts import Call, Step

LINE_CHARS = 140
_TELLING = (
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "pattern",
    "query",
    "url",
    "input",
    "description",
    "prompt",
)
"""The argument that tells most about a call, in the words of the known CLIs; else all arguments are shown."""


def call_line(call: Call) -> str:
    """The tool and the argument that tells most: `Bash: npm test`."""
    for name in _TELLING:
        value = call.args.get(name)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            value = " ".join(value)
        if isinstance(value, str) and value.strip():
            return one_line(f"{call.tool}: {value}", LINE_CHARS)
    if not call.args:
        return one_line(call.tool, LINE_CHARS)
    return one_line(f"{call.tool}: {json.dumps(call.args, ensure_ascii=False, default=str)}", LINE_CHARS)


def call_list(steps: Iterable[Step]) -> tuple[CallFinding, ...]:
    """Every call with its outcome."""
    return tuple(
        CallFinding(
            number=step.index,
            tool=one_line(step.call.tool, LINE_CHARS),
            summary=call_line(step.call),
            failed=step.failed,
            exit_code=step.result.exit_code if step.result else None,
            answered=step.result is not None,
        )
        for step in steps
    )
