"""Claude Code starts its stop hooks before it has written down the end of the turn: that end is waited for."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Timer

import pytest

from touchline.hooks.dialects import Heard
from touchline.hooks.evidence_kept import gather
from touchline.hooks.memory import Memory

MESSAGE = 'I ran "it" — the greeting is printed.\nAll is well with hello.py now.'
MESSAGES = {
    "of two lines": MESSAGE,
    "not ASCII": "已修复错误,所有测试通过。",
    "said before": "Fixed.",
    "with an emoji": "✅ 完成 🎉\n",
}


def record(who: str, block: dict[str, object], *, raw: bool = True) -> str:
    return json.dumps({"type": who, "message": {"role": who, "content": [block]}}, ensure_ascii=not raw) + "\n"


PROMPT = record("user", {"type": "text", "text": "Create hello.py"})
BEFORE = PROMPT + record("assistant", {"type": "text", "text": "The log says: Fixed. I look at it."})


def end_of(message: str, *, raw: bool) -> str:
    return (
        record("assistant", {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "python3 hello.py"}})
        + record("user", {"type": "tool_result", "tool_use_id": "1", "content": "hello"})
        + record("assistant", {"type": "text", "text": message}, raw=raw)
    )


def stopped(transcript: Path, message: str = MESSAGE) -> Heard:
    told = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript)}
    return Heard("claude", {**told, "last_assistant_message": message})


@pytest.mark.timeout(30)
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "escaped"])
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_what_is_written_a_moment_later_counts(tmp_path: Path, message: str, raw: bool) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(BEFORE)

    def write() -> None:
        with transcript.open("a") as file:
            file.write(end_of(message, raw=raw))

    late = Timer(0.1, write)
    late.start()
    with Memory({"HOME": str(tmp_path)}, "claude", "s") as memory:
        evidence = gather(stopped(transcript, message), memory)
    late.join()
    assert [command.text for command in evidence.ledger.commands] == ["python3 hello.py"]


def test_calls_that_only_the_hooks_know_count(tmp_path: Path) -> None:
    """The very same words came earlier in the turn, so that the transcript looks complete."""
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(PROMPT + record("assistant", {"type": "text", "text": "Fixed."}))
    with Memory({"HOME": str(tmp_path)}, "claude", "s") as memory:
        memory.append_call([0, "Bash", {"command": "python3 hello.py"}, "hello", "d", False])
        memory.append_call([1, "Bash", {"command": "python3 -m pytest"}, "1 passed in 0.1s", "d", False])
        memory.state["calls"] = 2
        evidence = gather(stopped(transcript, "Fixed."), memory)
        assert [command.call for command in evidence.ledger.commands] == [0, 1]
        transcript.write_text(PROMPT + end_of("Fixed.", raw=True))
        evidence = gather(stopped(transcript, "Fixed."), memory)
        assert len(evidence.ledger.commands) == 2, "one of the two calls is not written down yet"


@pytest.mark.timeout(30)
def test_what_never_comes_is_not_waited_for_without_end(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(PROMPT)
    with Memory({"HOME": str(tmp_path)}, "claude", "s") as memory:
        assert gather(stopped(transcript), memory).ledger.calls == 0
