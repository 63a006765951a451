"""Session logs of any size for benchmarks: the record shapes of Claude Code and Codex, filled from a fixed seed.

    python bench/synthetic_logs.py FOLDER --mb 100

The same seed always writes the same bytes. Sessions edit and run code; some loop, some claim what never ran. Which
kinds of record stand beside each call is taken from logs that Claude Code 2.1.325 and Codex 0.166 wrote. The sizes of
results are chosen, not measured, and so is that `api-request-blob` repeats a result whole: the ratio hangs on both.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGAN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
TEXT = """
the parser reads each record and keeps its offset so that a later pass can resume without reading everything again
while the index is rebuilt in the background and old segments are merged when idle
größere Dateien naïve café 測試 данные
"""
WORDS = TEXT.split()
PROJECTS = ("shop", "api-gateway", "billing", "docs-site", "mobile", "infra", "search", "reports")
PROMPTS = (
    "Fix the failing test in the order module.",
    "Add pagination to the list endpoint and test it.",
    "Why does the import take so long? Make it faster.",
    "Rename the settings class and update all users.",
)
SHARE_CODEX = 0.35
SESSION_BYTES = (200_000, 12_000_000)


def write_logs(folder: Path, megabytes: float, *, seed: int = 7) -> list[Path]:
    """Write about `megabytes` MB of session logs under `folder`, in the agents' own layout."""
    chance = random.Random(seed)
    pool = [_code(chance) for _ in range(400)]
    left = int(megabytes * 1_000_000)
    written: list[Path] = []
    while left > 0:
        size = min(left, int(SESSION_BYTES[0] * (SESSION_BYTES[1] / SESSION_BYTES[0]) ** chance.random()))
        number = len(written)
        began = BEGAN + timedelta(hours=number * 3 + chance.random())
        session = f"{chance.getrandbits(32):08x}-0000-4000-8000-{number:012x}"
        project = chance.choice(PROJECTS)
        if chance.random() < SHARE_CODEX:
            path = folder / "codex" / f"{began:%Y/%m/%d}" / f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{session}.jsonl"
            records = codex_records(chance, pool, session, f"/home/dev/{project}", began)
        else:
            path = folder / "claude" / f"-home-dev-{project}" / f"{session}.jsonl"
            records = claude_records(chance, pool, session, f"/home/dev/{project}", began)
        path.parent.mkdir(parents=True, exist_ok=True)
        done = 0
        with path.open("w", encoding="utf-8") as out:
            for turn in records:
                for record in turn:
                    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
                    out.write(line)
                    done += len(line.encode())
                if done >= size:
                    break
        left -= done
        written.append(path)
    return written


def claude_records(
    chance: random.Random, pool: list[str], session: str, cwd: str, began: datetime
) -> Iterator[list[dict[str, Any]]]:
    """Endless turns of one Claude Code session, each as its records."""
    clock = began
    number = 0
    while True:
        records: list[dict[str, Any]] = []

        def add(kind: str, _records: list[dict[str, Any]] = records, **fields: Any) -> None:
            nonlocal clock, number
            clock += timedelta(seconds=chance.random() * 9)
            number += 1
            uuid = f"{number:08x}-0000-4000-8000-{chance.getrandbits(48):012x}"
            parent = f"{number - 1:08x}-0000-4000-8000-000000000000"
            _records.append(
                {"parentUuid": parent, "isSidechain": False, "type": kind, **fields, "uuid": uuid}
                | {"timestamp": _stamp(clock), "userType": "external", "entrypoint": "cli", "cwd": cwd}
                | {"sessionId": session, "version": "2.1.325", "gitBranch": "main"}
            )

        def say(blocks: list[dict[str, Any]], stop: str) -> None:
            usage = {
                "input_tokens": chance.randrange(5, 900),
                "cache_creation_input_tokens": chance.randrange(0, 4000),
                "cache_read_input_tokens": chance.randrange(9_000, 120_000),
                "output_tokens": chance.randrange(40, 1200),
            }
            message_id = f"msg_{chance.getrandbits(96):024x}"
            for block in blocks:
                message: dict[str, Any] = {
                    "id": message_id,
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5",
                }
                message |= {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
                add("assistant", message=message, requestId=f"req_{chance.getrandbits(80):020x}")

        add("user", message={"role": "user", "content": chance.choice(PROMPTS)}, promptId=f"{number}")
        add("attachment", attachment={"type": "total_tokens_reminder", "text": "<total_tokens>900000 tokens left"})
        for tool, args, result, failed in _work(chance, pool):
            call = f"toolu_{chance.getrandbits(96):024x}"
            args = {"command": args, "description": "Run a command"} if tool == "Bash" else args
            text = {"type": "text", "text": _sentence(chance)}
            say([text, {"type": "tool_use", "id": call, "name": tool, "input": args}], "tool_use")
            block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
            message = {"role": "user", "content": [block]}
            add(
                "user",
                message=message,
                toolUseResult=f"Error: {result}" if failed else {"stdout": result, "stderr": "", "interrupted": False},
            )
            reminder = f"<total_tokens>{chance.randrange(9_000_000)} tokens left</total_tokens>"
            add("attachment", attachment={"type": "total_tokens_reminder", "text": reminder}, rendered=[reminder])
            # The CLI also keeps what it sent to the provider: each message once more, and each request.
            sent = {"sessionId": session, "version": "2.1.325", "timestamp": _stamp(clock)}
            records.append(
                {"type": "api-request-blob", **sent, "hash": f"{chance.getrandbits(256):064x}", "message": message}
            )
            records.append({"type": "api-request", **sent, "id": f"{chance.getrandbits(64):016x}", **_request(chance)})
        say([{"type": "text", "text": _closing(chance)}], "end_turn")
        yield records


def codex_records(
    chance: random.Random, pool: list[str], session: str, cwd: str, began: datetime
) -> Iterator[list[dict[str, Any]]]:
    """Endless turns of one Codex session, each as its records."""
    clock = began
    ordinal = 0
    total = 0
    for turn in range(1_000_000):
        records: list[dict[str, Any]] = []
        turn_id = f"{session[:-4]}{turn:04x}"

        def add(kind: str, _records: list[dict[str, Any]] = records, **payload: Any) -> None:
            nonlocal clock, ordinal
            clock += timedelta(seconds=chance.random() * 7)
            _records.append({"timestamp": _stamp(clock), "ordinal": ordinal, "type": kind, "payload": payload})
            ordinal += 1

        def words(role: str, text: str, turn_id: str = turn_id) -> None:
            kind = "output_text" if role == "assistant" else "input_text"
            content = [{"type": kind, "text": text}]
            item = {"type": "AgentMessage" if role == "assistant" else "UserMessage", "id": f"msg_{ordinal}"}
            add(
                "event_msg", type="item_completed", thread_id=session, turn_id=turn_id, item=item | {"content": content}
            )
            add("response_item", type="message", id=f"msg_{ordinal}", role=role, content=content)

        def spent(turn_id: str = turn_id) -> None:
            nonlocal total
            used = chance.randrange(2_000, 60_000)
            total += used
            last = {"input_tokens": used, "cached_input_tokens": used // 2, "output_tokens": 300}
            last |= {"reasoning_output_tokens": 0, "total_tokens": used + 300}
            whole = {key: value + total for key, value in last.items()}
            ids: dict[str, Any] = {
                "thread_id": session,
                "turn_id": turn_id,
                "session_id": session,
                "response_id": f"resp_{ordinal}",
            }
            add("token_usage_record", **ids, usage=last, turn_token_usage=whole, thread_token_usage=whole)
            info = {"total_token_usage": whole, "last_token_usage": last, "model_context_window": 258400}
            add("event_msg", type="token_count", info=info)

        if turn == 0:
            add("session_meta", id=session, session_id=session, cwd=cwd, cli_version="0.166.0", source="cli")
        add("event_msg", type="task_started", turn_id=turn_id, started_at=int(clock.timestamp()))
        add("turn_context", turn_id=turn_id, cwd=cwd, model="gpt-5.5", approval_policy="never")
        words("user", chance.choice(PROMPTS))
        for tool, args, result, failed in _work(chance, pool):
            call = f"call_{chance.getrandbits(80):020x}"
            words("assistant", _sentence(chance))
            command = args if tool == "Bash" else f"sed -i s/old/new/ {args['file_path']}"
            add(
                "response_item",
                type="function_call",
                name="exec_command",
                arguments=json.dumps({"cmd": command}),
                call_id=call,
            )
            output = (
                f"Chunk ID: 1a99cc\nWall time: 0.2 seconds\nProcess exited with code {int(failed)}\nOutput:\n{result}"
            )
            add("response_item", type="function_call_output", call_id=call, output=output)
            spent()
        closing = _closing(chance)
        words("assistant", closing)
        spent()
        add("event_msg", type="task_complete", turn_id=turn_id, last_agent_message=closing)
        yield records


def _work(chance: random.Random, pool: list[str]) -> Iterator[tuple[str, Any, str, bool]]:
    """The calls of one turn: reading, editing, running; now and then a loop of the same failing command."""
    if chance.random() < 0.06:
        for _ in range(chance.randrange(5, 14)):
            yield (
                "Bash",
                "npm test",
                "Exit code 1\nError: Cannot find module './config'\nTests: 3 failed, 9 passed",
                True,
            )
    for _ in range(chance.randrange(3, 30)):
        name = f"/home/dev/src/{chance.choice(WORDS)}_{chance.randrange(40)}.py"
        kind = chance.random()
        if kind < 0.45:
            yield (
                "Read",
                {"file_path": name, "offset": chance.randrange(4000)},
                "".join(chance.choices(pool, k=_much(chance))),
                False,
            )
        elif kind < 0.65:
            old, new = chance.choice(pool), chance.choice(pool)
            yield (
                "Edit",
                {"file_path": name, "old_string": old, "new_string": new},
                f"The file {name} has been updated.",
                False,
            )
        elif kind < 0.9:
            yield (
                "Bash",
                f"grep -rn {chance.choice(WORDS)} src | head -{chance.randrange(90)}",
                "".join(chance.choices(pool, k=_much(chance))),
                False,
            )
        else:
            failed = chance.random() < 0.3
            counts = "2 failed, 40 passed in 3.21s" if failed else f"{chance.randrange(5, 90)} passed in 2.10s"
            lead = "Exit code 1\n" if failed else ""
            yield "Bash", "python -m pytest -q", lead + chance.choice(pool) + f"\n{counts}", failed


def _request(chance: random.Random) -> dict[str, Any]:
    betas = [f"{chance.choice(WORDS)}-2026-0{month}-01" for month in range(1, 7)]
    params = {"model": "claude-sonnet-4-5", "betas": betas, "max_tokens": 32000, "thinking": {"type": "enabled"}}
    cache = [{"path": ["system", place], "value": {"type": "ephemeral"}} for place in range(3)]
    tail = [f"{chance.getrandbits(256):064x}" for _ in range(2)]
    return {"querySource": "sdk", "params": params, "keep": 5, "tail": tail, "cacheControl": cache}


def _much(chance: random.Random) -> int:
    return min(60, 1 + int(chance.expovariate(0.18)))


def _closing(chance: random.Random) -> str:
    return chance.choice(
        (
            "Done. The change is in place and all tests pass.",
            "I fixed the bug and added a test for it.\n\nAll 42 tests pass.",
            "The refactoring is complete; it should work now.",
            "Which of the two formats should the export use?",
            "Next I will update the remaining callers.",
            "It is slow because every row is read twice; the index on `created_at` is missing.",
        )
    )


def _sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randrange(6, 40))).capitalize() + "."


def _code(chance: random.Random) -> str:
    lines = []
    for number in range(chance.randrange(4, 24)):
        name, value = chance.choice(WORDS), " ".join(chance.choices(WORDS, k=6))
        lines.append(f'{number:>5}\t    {name}_{chance.randrange(999)} = {{"{name}": "{value}"}}  # {value[:20]}\n')
    return "".join(lines)


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mb", type=float, default=100)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    written = write_logs(options.folder, options.mb, seed=options.seed)
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} logs, {size / 1e6:.1f} MB in {options.folder}")


if __name__ == "__main__":
    main()
