"""Many files at once: the same result on any number of cores, and no file can stop the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from touchline.audit.report import SCHEMA, report, report_text
from touchline.audit.run import SMALL, audit
from touchline.audit.samples import SAMPLES
from touchline.audit.selection import UNKNOWN, Filters, choose, parse_since
from touchline.errors import InputError

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return folder


def test_a_folder_is_searched_and_what_is_no_log_is_reported(logs: Path) -> None:
    (logs / "notes.jsonl").write_text('{"some": "thing"}\n')
    (logs / "empty.jsonl").write_text("")
    (logs / "readme.txt").write_text("not looked at")
    chosen = choose([logs])
    assert len(chosen.logs) == len(list(SAMPLES.rglob("*.jsonl")))
    assert {Path(u.path).name: u.why for u in chosen.unreadable} == {
        "notes.jsonl": UNKNOWN,
        "empty.jsonl": "empty file",
    }


def test_a_file_named_twice_counts_once(logs: Path) -> None:
    one = logs / "claude" / "loop.jsonl"
    assert len(choose([one, one, logs / "claude" / ".." / "claude" / "loop.jsonl"]).logs) == 1


def test_a_missing_path_is_an_error() -> None:
    with pytest.raises(InputError, match="No such file or folder"):
        choose([Path("/nowhere/at/all")])


def test_a_log_that_cannot_be_opened_is_reported(logs: Path) -> None:
    (logs / "dangling.jsonl").symlink_to("/nowhere/at/all")
    (logs / "folder.jsonl").mkdir()
    (one,) = choose([logs]).unreadable
    assert (Path(one.path).name, one.why) == ("dangling.jsonl", "No such file or directory")


def test_the_logs_of_installed_agents_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    project = tmp_path / ".claude" / "projects" / "-w"
    project.mkdir(parents=True)
    shutil.copy(SAMPLES / "claude" / "loop.jsonl", project / "a.jsonl")
    assert [log.path.name for log in choose().logs] == ["a.jsonl"]
    assert choose(filters=Filters(agents=("codex",))).logs == ()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("24h", NOW - timedelta(hours=24)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("90m", NOW - timedelta(minutes=90)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=NOW.tzinfo)),
        ("2026-03-01T09:30Z", datetime(2026, 3, 1, 9, 30, tzinfo=UTC)),
    ],
)
def test_since_understands(text: str, moment: datetime) -> None:
    assert parse_since(text, now=NOW) == moment


@pytest.mark.parametrize("text", ["soon", "7y", "-3d", "2026-13-01", "999999w", "٣d."])
def test_since_refuses_with_the_value_and_examples(text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_since(text, now=NOW)
    assert repr(text) in refused.value.message
    assert "7d" in refused.value.hint


def test_filters_keep_what_they_say() -> None:
    everything = audit(choose([SAMPLES]))
    for filters, kept in (
        (Filters(agents=("codex",)), lambda s: s.agent == "codex"),
        (Filters(project="LOOP"), lambda s: "loop" in (s.project or s.path)),
        (Filters(since=datetime(2026, 11, 16, tzinfo=UTC)), lambda s: s.ended_at >= datetime(2026, 11, 16, tzinfo=UTC)),
    ):
        found = audit(choose([SAMPLES], filters=filters), filters=filters)
        assert {s.path for s in found.sessions} == {s.path for s in everything.sessions if kept(s)} != set()
        assert len(found.sessions) < len(everything.sessions)


def test_files_not_changed_since_then_are_not_read(logs: Path) -> None:
    for path in logs.rglob("*.jsonl"):
        os.utime(path, (0, 0))
    assert choose([logs], filters=Filters(since=NOW)).logs == ()


def test_progress_is_told_after_every_file() -> None:
    told: list[tuple[int, int]] = []
    result = audit(choose([SAMPLES]), progress=lambda done, total, _path: told.append((done, total)))
    assert len(told) == result.files
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (result.bytes, result.bytes)


def test_the_report_as_text_is_the_report() -> None:
    result = audit(choose([SAMPLES]))
    whole = report(result, made_at=NOW)
    assert json.loads("".join(report_text(result, made_at=NOW))) == whole
    assert whole["schema"] == SCHEMA
    empty = audit(choose([SAMPLES], filters=Filters(agents=("opencode",))))
    assert json.loads("".join(report_text(empty, made_at=NOW)))["sessions"] == []


def test_a_binary_file_called_a_log_stops_nothing(logs: Path) -> None:
    (logs / "claude" / "torn.jsonl").write_bytes((SAMPLES / "claude" / "loop.jsonl").read_bytes()[:3000] + b"\xff\x00{")
    result = audit(choose([logs]))
    assert len(result.sessions) + len(result.unreadable) >= len(list(SAMPLES.rglob("*.jsonl"))) + 1


SCRIPT = """
import os, sys
from pathlib import Path
from typing import Any
from touchline.audit.report import report_text
from touchline.audit.run import FileAudit, Job, audit, audit_one
from touchline.audit.selection import choose
from datetime import UTC, datetime

def dying(job: Job) -> FileAudit:
    if job.path.endswith("killer.jsonl"):
        os._exit(9)
    return audit_one(job)

def plain(job: Job) -> FileAudit:
    return audit_one(job)

if __name__ == "__main__":
    how = {"dying": dying, "plain": plain}[sys.argv[2]]
    result = audit(choose([Path(sys.argv[1])]), jobs=int(sys.argv[3]), audit_file=how)
    sys.stdout.write("".join(report_text(result, made_at=datetime(2026, 1, 1, tzinfo=UTC))))
"""


def run_script(tmp_path: Path, logs: Path, how: str, jobs: int) -> dict[str, Any]:
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script, logs, how, str(jobs)], capture_output=True, text=True, check=True, timeout=100
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_many_workers_find_what_one_finds(tmp_path: Path, logs: Path) -> None:
    assert run_script(tmp_path, logs, "plain", 1) == run_script(tmp_path, logs, "plain", 3)


def test_a_worker_that_dies_is_reported_for_its_file_alone(tmp_path: Path, logs: Path) -> None:
    shutil.copy(logs / "claude" / "question.jsonl", logs / "killer.jsonl")
    found = run_script(tmp_path, logs, "dying", 2)
    assert len(found["sessions"]) == len(list(SAMPLES.rglob("*.jsonl")))
    (one,) = found["unreadable"]
    assert one["path"].endswith("killer.jsonl")
    assert "died" in one["why"]


def test_small_amounts_start_no_workers() -> None:
    # Through the public door: with workers, this test's own module would have to be importable by them.
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*.jsonl")) < SMALL
    assert len(audit(choose([SAMPLES]), jobs=8).sessions) == len(list(SAMPLES.rglob("*.jsonl")))
