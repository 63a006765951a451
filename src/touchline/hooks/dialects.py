"""What does this agent say at its hooks, and how must it be answered?

Each agent's events and fields, read into one `Heard`, and four answers worded for each. Imports next to nothing: every
event waits for it.
"""

from __future__ import annotations

from touchline.plain_json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS: dict[str, dict[str, str]] = {
    "claude": {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "PostToolUseFailure": "after",
        "Stop": "stop",
        "SubagentStop": "stop",
    },
    "codex": {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PreToolUse": "before",
        "PostToolUse": "after",
        "Stop": "stop",
        "SubagentStop": "stop",
    },
    "gemini": {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "BeforeTool": "before",
        "AfterTool": "after",
        "AfterAgent": "stop",
    },
    "opencode": {
        "start": "start",
        "prompt": "prompt",
        "before": "before",
        "after": "after",
        "stop": "stop",
    },
}
"""The events Touchline listens to, by agent, and what each is for."""
_MACHINES = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
_ECHOES = ("<task-notification", "<local-command-", "<bash-stdout", "<bash-stderr", "<system-reminder", "<teammate-")
"""How prompts begin that no person wrote, where the agent does not say who did."""
_ASLEEP = frozenset({"completed", "failed", "killed", "cancelled", "stopped"})


class Heard:
    """One event. A field that the event does not have is empty."""

    __slots__ = (
        "agent",
        "args",
        "background",
        "call",
        "cwd",
        "event",
        "failed",
        "helper",
        "interrupted",
        "last_message",
        "name",
        "person",
        "planning",
        "prompt",
        "response",
        "session",
        "tool",
        "transcript",
    )

    def __init__(self, agent: str, said: Mapping[str, Any]) -> None:
        self.agent = agent
        self.name = _text(said, "hook_event_name")
        self.event = EVENTS[agent].get(self.name, "")
        self.session = _text(said, "session_id")
        self.helper = _text(said, "agent_id")
        self.transcript = _text(said, "agent_transcript_path") or _text(said, "transcript_path")
        self.cwd = _text(said, "cwd")
        self.planning = said.get("permission_mode") == "plan"
        self.call = _text(said, "tool_use_id")
        self.tool = _text(said, "tool_name")
        args = said.get("tool_input")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {} if args is None else {"input": args}
        self.interrupted = said.get("is_interrupt") is True
        self.failed, self.response = _outcome(self.name, said) if self.event == "after" else (False, "")
        self.prompt = _text(said, "prompt")
        self.person = said.get("source") not in _MACHINES and not self.prompt.startswith(_ECHOES)
        self.last_message = _text(said, "last_assistant_message") or _text(said, "prompt_response")
        tasks = said.get("background_tasks")
        running = [t for t in tasks if isinstance(t, dict)] if isinstance(tasks, list) else []
        self.background = [t for t in running if t.get("status") not in _ASLEEP]


def answer(heard: Heard, kind: str, words: str) -> dict[str, Any]:
    """The answer in the agent's own form: `send_back`, `refuse`, `ask`, `tell` (the agent) or `show` (the person)."""
    if kind == "show":
        return {"systemMessage": words}
    if heard.agent == "gemini":
        if kind in ("send_back", "refuse", "ask"):
            return {"decision": "deny", "reason": words}
    elif kind == "send_back":
        return {"decision": "block", "reason": words}
    elif kind in ("refuse", "ask"):
        # Codex knows no asking here; a refused call says why, and a person can still run it.
        decision = "ask" if kind == "ask" and heard.agent == "claude" else "deny"
        return _specific(heard, permissionDecision=decision, permissionDecisionReason=words)
    return _specific(heard, additionalContext=words)


def _specific(heard: Heard, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": heard.name, **fields}}


def _outcome(name: str, said: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the call failed, and what it returned."""
    if name == "PostToolUseFailure":
        return True, _text(said, "error")
    response = said.get("tool_response")
    if isinstance(response, str):
        return _codex_failed(response), response
    if not isinstance(response, dict):
        return False, "" if response is None else _written(response)
    if "stdout" in response or "stderr" in response:
        return False, "\n".join(part for part in (_text(response, "stdout"), _text(response, "stderr")) if part)
    if "llmContent" in response:
        shown = response["llmContent"]
        words = _gemini_text(shown if isinstance(shown, str) else _written(shown))
        return bool(response.get("error")) or _gemini_failed(words), words
    if isinstance(response.get("output"), str):
        code = response.get("exit")
        return response.get("failed") is True or (isinstance(code, int) and code != 0), response["output"]
    return False, _written(response)


def _codex_failed(words: str) -> bool:
    """Codex heads a command's output with its exit code."""
    head = words[:400]
    for mark in ("Exit code: ", "Process exited with code "):
        at = head.find(mark)
        if at >= 0:
            code = head[at + len(mark) :].split("\n", 1)[0].strip()
            return code.lstrip("-").isdigit() and int(code) != 0
    return False


def _gemini_failed(words: str) -> bool:
    """Gemini CLI notes a command's exit code on a line of its own, unless it is zero."""
    at = words.find("\nExit Code: ")
    return at >= 0 and words[at + 12 :].split("\n", 1)[0].strip() not in ("0", "(none)", "")


def _gemini_text(words: str) -> str:
    """A command's output without what Gemini CLI puts around it; its process group makes every result a new one."""
    words = words.removeprefix("<untrusted_context>\n").removesuffix("\n</untrusted_context>").removeprefix("Output: ")
    head, mark, tail = words.rpartition("\nProcess Group PGID: ")
    return f"{head}{tail[len(tail.split(chr(10), 1)[0]) :]}" if mark else words


def _written(value: object) -> str:
    return dumps(value, sort_keys=True)


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""
