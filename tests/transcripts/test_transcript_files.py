"""Which files are logs, where they lie, and that reading changes none of them."""

from __future__ import annotations

import sqlite3
from datetime import UTC
from pathlib import Path

import pytest

from touchline.errors import InputError, LogNotFound
from touchline.supervision.facts import Ended
from touchline.transcripts import find_logs, read_log, sniff

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
LOGS = CAPTURES / "session-logs"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("session-logs/claude/projects/-workspace-b-tools", "claude-log"),
        ("claude/b_tools.jsonl", "claude-stream"),
        ("claude/b_tools_json.json", "claude-stream"),
        ("claude/e_resume_unknown.jsonl", "claude-stream"),
        ("codex/b_tools.jsonl", "codex-stream"),
        ("session-logs/codex", "codex-log"),
        ("opencode/d_http401.jsonl", "opencode-stream"),
        ("session-logs/opencode", "opencode-db"),
        ("gemini/b_tools.jsonl", "gemini-stream"),
        ("gemini/a_plain_json.json", "gemini-stream"),
        ("session-logs/gemini", "gemini-log"),
    ],
)
def test_the_format_shows_in_the_content(path: str, expected: str, tmp_path: Path) -> None:
    place = CAPTURES / path
    files = [p for p in place.rglob("*") if p.is_file()] if place.is_dir() else [place]
    for file in files:
        copy = tmp_path / "nameless"
        copy.write_bytes(file.read_bytes())
        found = sniff(copy)
        assert found == expected
        assert found.cli == expected.partition("-")[0]


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"just words\n", b'{"a":1}\n', b"[]", b"\x00\xff\xfe", b"SQLite format 3\0"]
)
def test_a_file_that_is_no_log_yields_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert sniff(path) is None
    assert list(read_log(path)) == []


def test_what_cannot_be_read_is_an_error_with_a_hint(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(LogNotFound, match=str(path)) as caught:
            list(read_log(path))
        assert caught.value.hint


def test_reading_the_database_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes((LOGS / "opencode" / "opencode.db").read_bytes())
    with sqlite3.connect(path) as database:
        database.execute("pragma journal_mode=wal")
    database.close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert len(list(read_log(path))) == 7
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_database_in_use_is_read_with_its_latest_rows(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes((LOGS / "opencode" / "opencode.db").read_bytes())
    writer = sqlite3.connect(path)
    try:
        writer.execute("pragma journal_mode=wal")
        writer.execute("delete from message where json_extract(data, '$.role') = 'assistant'")
        writer.commit()
        assert {turn.ended for turn in read_log(path)} <= {Ended.UNKNOWN, Ended.INTERRUPTED}
    finally:
        writer.close()


def test_logs_are_found_in_their_usual_folders(tmp_path: Path) -> None:
    places = {
        ".claude/projects/-repo/1.jsonl": "claude",
        ".claude/projects/-repo/1/subagents/agent-2.jsonl": "claude",
        ".codex/sessions/2026/01/02/rollout-a.jsonl": "codex",
        ".codex/archived_sessions/rollout-b.jsonl": "codex",
        ".gemini/tmp/repo/chats/session-1.jsonl": "gemini",
        ".gemini/tmp/repo/chats/session-0.json": "gemini",
        ".local/share/opencode/opencode.db": "opencode",
    }
    others = [".claude/history.jsonl", ".codex/sessions/notes.jsonl", ".gemini/tmp/repo/logs.json"]
    for place in [*places, *others]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("{}", "utf-8")
    (tmp_path / ".claude/projects/-repo/loop").symlink_to(tmp_path / ".claude", target_is_directory=True)
    found = list(find_logs(home=tmp_path, env={}))
    assert {log.path.relative_to(tmp_path).as_posix(): log.cli for log in found} == places
    assert all(log.size == 2 and log.modified.tzinfo is UTC for log in found)
    assert {log.cli for log in find_logs(["codex"], home=tmp_path, env={})} == {"codex"}


def test_the_environment_moves_the_folders(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": "c", "CODEX_HOME": "x", "XDG_DATA_HOME": "d"}
    env = {name: str(tmp_path / folder) for name, folder in env.items()}
    for place in ("c/projects/p/1.jsonl", "x/sessions/rollout-1.jsonl", "d/opencode/opencode.db"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("{}", "utf-8")
    assert {log.cli for log in find_logs(home=tmp_path / "nobody", env=env)} == {"claude", "codex", "opencode"}


def test_an_unknown_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cursor"):
        list(find_logs(["cursor"], home=tmp_path, env={}))
