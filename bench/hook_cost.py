"""What does a hook process cost against a bare start of the same interpreter, with a transcript of 20 MB too?

    python bench/hook_cost.py [--rounds N] [--mb N]

Bare is `python -c pass`. A hook runs as it is installed, through a shell, with an event as Claude Code sends it. All
kinds take turns, each after a bare start, so that a busy machine disturbs them alike. Compared are the 95th percentiles
of the processor time, which other programs disturb least; the time on the clock is shown beside it. Twice a bare start
is the limit for every kind of event, and for the events of a whole session: `MIX` is what one prompt brings. What a
stop costs grows with what the agent says; a long message has a limit of its own. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from touchline.hooks.agents_known import hook_command

LIMIT = 2.0
LONG_LIMIT = 2.5
"""Of a stop with a long message: each of its sentences is held against the rules."""
MIX = {
    "SessionStart": 1,
    "UserPromptSubmit": 1,
    "PreToolUse": 20,
    "PostToolUse": 18,
    "PostToolUseFailure": 2,
    "Stop": 1,
}
"""Events of a short session: one prompt and twenty calls, two of which fail. Longer ones have fewer stops to a call."""

ANSWER = "I fixed the parser, and all tests pass."
LONG_STOP = "Stop, 600 letters"
LONG_ANSWER = (
    "I fixed the parser so that it no longer drops the last token of a line. The cause was in `read_token`: the loop "
    "stopped one place before the end of the buffer. I changed `src/parser.py` to look at what remains first, added a "
    "regression test in `tests/test_parser.py` for an input without a final newline, and ran the whole test suite.\n\n"
    "## Summary\n- `src/parser.py`: loop bound corrected, dead branch removed\n- `tests/test_parser.py`: new test for "
    "an input without a newline\n- All tests pass (12 passed in 0.31s)\n\nShall I tidy up the lexer in the same way?"
)
"""What agents end a task with: what was wrong, what was changed, what was run."""


class Spent(NamedTuple):
    """What a process took, in milliseconds."""

    processor: float
    clock: float


class Session:
    """A made-up session, its transcript, and events as the agent would send them."""

    def __init__(self, folder: Path, megabytes: float) -> None:
        self.env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
        self.folder = folder
        self.megabytes = megabytes
        self.name = str(uuid5(NAMESPACE_URL, f"bench-{megabytes:g}"))
        self.transcript = folder / f"{self.name}.jsonl"
        self.number = 0
        with self.transcript.open("w") as file:
            while file.tell() < megabytes * 1_000_000:
                file.write(self._turn())

    def _turn(self, answer: str = ANSWER) -> str:
        """A prompt, five calls that read 8 kB each, a change, its test, and an answer."""
        lines = [self._record("user", {"type": "text", "text": "Please look into the parser, and mend it."})]
        for _ in range(5):
            lines += self._call("Bash", {"command": f"cat src/part_{self.number}.py"}, "x = 1\n" * 1_300)
        lines += self._call(
            "Edit", {"file_path": str(self.folder / "a.py"), "old_string": "1", "new_string": "2"}, "ok"
        )
        lines += self._call("Bash", {"command": "python3 -m pytest -q"}, "12 passed in 0.31s")
        lines.append(self._record("assistant", {"type": "text", "text": answer}))
        return "".join(lines)

    def _call(self, tool: str, args: dict[str, Any], result: str) -> list[str]:
        self.number += 1
        name = f"call_{self.number}"
        return [
            self._record("assistant", {"type": "tool_use", "id": name, "name": tool, "input": args}),
            self._record("user", {"type": "tool_result", "tool_use_id": name, "content": result}),
        ]

    def _record(self, who: str, block: dict[str, Any]) -> str:
        self.number += 1
        message = {"role": who, "id": f"msg_{self.number}", "model": "m", "content": [block], "stop_reason": None}
        record = {"type": who, "sessionId": self.name, "cwd": str(self.folder), "message": message}
        return json.dumps({**record, "timestamp": "2026-01-01T00:00:00.000Z", "uuid": str(self.number)}) + "\n"

    def event(self, name: str, answer: str = ANSWER) -> bytes:
        self.number += 1
        args = {"command": f"grep -rn name_{self.number} src", "description": "Look for a name"}
        fields: dict[str, dict[str, Any]] = {
            "SessionStart": {"source": "startup"},
            "UserPromptSubmit": {"prompt": "And now the lexer, please."},
            "PreToolUse": {"tool_name": "Bash", "tool_input": args},
            "PostToolUse": {
                "tool_name": "Bash",
                "tool_input": args,
                "tool_response": {"stdout": f"src/a.py:{self.number}: found\n" * 60, "stderr": ""},
            },
            "PostToolUseFailure": {"tool_name": "Bash", "tool_input": args, "error": f"Exit code 1\n{self.number}"},
            "Stop": {
                "stop_hook_active": False,
                "background_tasks": [],
                "last_assistant_message": answer,
            },
        }
        said = {
            "session_id": self.name,
            "transcript_path": str(self.transcript),
            "cwd": str(self.folder),
            "permission_mode": "default",
            "hook_event_name": name,
            **fields[name],
        }
        return json.dumps(said).encode()

    def spent(self, name: str) -> Spent:
        if name == "PostToolUseFailure":
            # A call that ends well in between: two failures out of three are a finding, which loads the rules.
            self.run(self.event("PostToolUse"))
            self.run(self.event("PostToolUse"))
        if name not in ("Stop", LONG_STOP):
            return self.run(self.event(name))
        answer = ANSWER if name == "Stop" else LONG_ANSWER
        with self.transcript.open("a") as file:
            file.write(self._turn(answer))
        return self.run(self.event("Stop", answer))

    def run(self, said: bytes) -> Spent:
        return measured(["/bin/sh", "-c", hook_command("claude")], said, self.env)


def bare() -> Spent:
    return measured([sys.executable, "-c", "pass"], b"", None)


def measured(command: list[str], said: bytes, env: dict[str, str] | None) -> Spent:
    began, before = time.perf_counter(), _children()
    subprocess.run(command, input=said, env=env, check=True, capture_output=True)
    return Spent(processor=(_children() - before) * 1000, clock=(time.perf_counter() - began) * 1000)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def at_95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--mb", type=float, default=20.0, help="megabytes of the large transcript")
    given = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="touchline-bench-") as place:
        sessions = [Session(Path(place), size) for size in (0.1, given.mb)]
        for session in sessions:
            session.run(session.event("SessionStart"))
            for name in (*MIX, LONG_STOP):
                session.spent(name)  # once unmeasured: the first run writes compiled files
        kinds = [(session, name) for session in sessions for name in (*MIX, LONG_STOP)]
        bares: list[Spent] = []
        costs: dict[tuple[str, str], list[Spent]] = {(session.name, name): [] for session, name in kinds}
        for _ in range(given.rounds):
            for session, name in kinds:
                bares.append(bare())
                costs[session.name, name].append(session.spent(name))
    print(f"{given.rounds} rounds; processor time and time on the clock, in ms")
    _shown("bare interpreter", bares, bares, None)
    for session in sessions:
        print(f"transcript of {session.megabytes:g} MB:")
        whole: list[Spent] = []
        for name, times in MIX.items():
            found = costs[session.name, name]
            whole += found * times
            missed |= _shown(name, found, bares, LIMIT)
        missed |= _shown("a session's events", whole, bares, LIMIT)
        missed |= _shown(LONG_STOP, costs[session.name, LONG_STOP], bares, LONG_LIMIT)
    return int(missed)


def _shown(name: str, found: list[Spent], bares: list[Spent], limit: float | None) -> bool:
    told, ratio = [], 0.0
    for which in ("clock", "processor"):
        values, base = [getattr(s, which) for s in found], [getattr(s, which) for s in bares]
        ratio = at_95(values) / at_95(base)
        told.append(f"{which} median {median(values):6.1f}, 95th {at_95(values):6.1f} = {ratio:4.2f} x bare")
    missed = limit is not None and ratio > limit
    against = "" if limit is None else f"   limit {limit:.1f}" + (" MISSED" if missed else "")
    print(f"  {name:20} {told[1]}   {told[0]}{against}")
    return missed


if __name__ == "__main__":
    raise SystemExit(main())
