"""An agent that sends hook events as Claude Code does, one process each, and keeps a transcript."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from touchline.hooks.agents_known import hook_words


class Agent:
    """One session of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self.transcript = folder / "transcript.jsonl"
        self.transcript.touch()
        self.number = 0
        self.python: tuple[str, ...] = ()

    def send(self, raw: bytes, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        program, *words = hook_words("claude")[:-1]
        return subprocess.run(
            [program, *self.python, *words, *(arguments or ("claude",))],
            input=raw,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"], **env},
            capture_output=True,
            check=False,
        )

    def tell(self, event: str, **fields: Any) -> Any:
        """The answer to an event, or None."""
        said = {
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }
        done = self.send(json.dumps(said).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    def stop(self, words: str, **fields: Any) -> str | None:
        """Why the agent is sent back, or None."""
        self.said(words)
        answer = self.tell("Stop", last_assistant_message=words, stop_hook_active=False, background_tasks=[], **fields)
        return answer["reason"] if answer and answer.get("decision") == "block" else None

    def record(self, who: str, block: dict[str, Any], **fields: Any) -> None:
        self.number += 1
        message = {"role": who, "id": f"m{self.number}", "content": [block], "stop_reason": None}
        with self.transcript.open("a") as file:
            file.write(json.dumps({"type": who, "cwd": str(self.folder), "message": message, **fields}) + "\n")

    def said(self, words: str) -> None:
        self.record("assistant", {"type": "text", "text": words})

    def prompted(self, words: str) -> None:
        self.record("user", {"type": "text", "text": words})

    def called(self, tool: str, args: dict[str, Any], result: str, *, failed: bool = False) -> str:
        """Its id."""
        name = f"call_{self.number}"
        self.record("assistant", {"type": "tool_use", "id": name, "name": tool, "input": args})
        self.record("user", {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": failed})
        return name

    def began(self, command: str) -> str:
        """A command in the background; its id."""
        args = {"command": command, "run_in_background": True}
        return self.called("Bash", args, "Command running in background with ID: b1. Output is being written to: /x.")

    def notified(self, call: str, code: int, **fields: Any) -> None:
        """The end of such a command, as Claude Code writes it down; other `fields` make it another's words."""
        ended = f"failed with exit code {code}" if code else "completed (exit code 0)"
        words = (
            f"<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
            f"<output-file>/x</output-file>\n<status>{'failed' if code else 'completed'}</status>\n"
            f'<summary>Background command "the tests" {ended}</summary>\n</task-notification>'
        )
        told = fields or {"origin": {"kind": "task-notification", "producer": "session-task"}, "promptSource": "system"}
        self.record("user", {"type": "text", "text": words}, **told)

    def edited(self) -> None:
        path = str(self.folder / "parser.py")
        self.called("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "The file has been updated.")

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "touchline"

    @property
    def log(self) -> str:
        path = self.state / "hooks.log"
        return path.read_text() if path.exists() else ""
