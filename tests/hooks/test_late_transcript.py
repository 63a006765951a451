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


def record(who: str, block: dict[str, object]) -> str:
    return json.dumps({"type": who, "message": {"role": who, "content": [block]}}, ensure_ascii=False) + "\n"


PROMPT = record("user", {"type": "text", "text": "Create hello.py"})
END = (
    record("assistant", {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "python3 hello.py"}})
    + record("user", {"type": "tool_result", "tool_use_id": "1", "content": "hello"})
    + record("assistant", {"type": "text", "text": MESSAGE})
)


def stopped(transcript: Path) -> Heard:
    told = {"hook_event_name": "Stop", "session_id": "s", "transcript_path": str(transcript)}
    return Heard("claude", {**told, "last_assistant_message": MESSAGE})


@pytest.mark.timeout(30)
def test_what_is_written_a_moment_later_counts(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(PROMPT)

    def write() -> None:
        with transcript.open("a") as file:
            file.write(END)

    late = Timer(0.1, write)
    late.start()
    with Memory({"HOME": str(tmp_path)}, "claude", "s") as memory:
        evidence = gather(stopped(transcript), memory)
    late.join()
    assert [command.text for command in evidence.ledger.commands] == ["python3 hello.py"]


@pytest.mark.timeout(30)
def test_what_never_comes_is_not_waited_for_without_end(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(PROMPT)
    with Memory({"HOME": str(tmp_path)}, "claude", "s") as memory:
        assert gather(stopped(transcript), memory).ledger.calls == 0
