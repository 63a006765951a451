"""`touchline audit` and `touchline demo`, run as a person runs them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.forking import touchline_run

from touchline.audit.samples import SAMPLES

ROOT = Path(__file__).resolve().parents[2]
SAMPLE_COUNT = len(list(SAMPLES.rglob("*.jsonl")))


def touchline(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    return touchline_run([*map(str, arguments)], env={**os.environ, "NO_COLOR": "", **env})


def audited(*arguments: str | Path) -> dict[str, Any]:
    done = touchline("audit", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__"))
    return folder


def test_the_report_goes_to_stdout_and_nothing_else(logs: Path) -> None:
    done = touchline("audit", logs)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "contradicted by the log" in done.stdout
    assert "Sessions worth a look" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_command_that_looks_closer_works_as_it_is_printed(logs: Path) -> None:
    for given in (("demo", "--audit", "--out", str(logs.parent / "out")), ("audit", str(logs))):
        line = next(line for line in touchline(*given).stdout.splitlines() if line.startswith("Why, call by call: "))
        done = touchline(*shlex.split(line.partition(": ")[2])[1:])
        assert done.returncode == 0, done.stderr
        assert "Session" in done.stdout


def test_forced_colour_colours_and_no_color_wins(logs: Path) -> None:
    assert "\x1b[" in touchline("audit", logs, FORCE_COLOR="1").stdout
    assert "\x1b[3" not in touchline("audit", logs, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_the_audit_changes_nothing_on_disk(logs: Path) -> None:
    def state() -> dict[str, tuple[str, int, int]]:
        return {
            str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns, path.stat().st_mode)
            for path in sorted(logs.parent.rglob("*"))
            if path.is_file()
        }

    before = state()
    for arguments in ((), ("--json",), ("--explain", "dd4673c9"), ("--jobs", "2")):
        assert touchline("audit", logs, *arguments).returncode == 0
    assert state() == before


def documented() -> Iterator[tuple[str, set[str]]]:
    """Each object of the documented schema with its fields."""
    page = (ROOT / "docs" / "reference" / "audit-json.md").read_text(encoding="utf-8")
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        name = re.match(r"`([a-z_.\[\]]+)`", part)
        if name:
            yield name[1], set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))


def test_json_has_the_documented_fields_and_no_other() -> None:
    found = audited("--samples")
    looped = next(session for session in found["sessions"] if session["loops"])
    claiming = next(turn for s in found["sessions"] for turn in s["turns"] if turn["claims"])
    explained = audited("--samples", "--explain", "dd4673c9")["sessions"][0]["turns"][0]
    unreadable = audited(SAMPLES, ROOT / "pyproject.toml")["unreadable"]
    shapes = {
        "report": found,
        "filters": found["filters"],
        "unreadable[]": unreadable[0],
        "summary": found["summary"],
        "tally": found["summary"]["total"],
        "summary.by_day[]": found["summary"]["by_day"][0],
        "summary.worst[]": found["summary"]["worst"][0],
        "summary.worst[].because[]": found["summary"]["worst"][0]["because"][0],
        "sessions[]": looped,
        "sessions[].turns[]": claiming,
        "sessions[].turns[].claims[]": claiming["claims"][0],
        "sessions[].turns[].call_list[]": explained["call_list"][0],
        "sessions[].loops[]": looped["loops"][0],
        "usage": looped["usage"],
    }
    assert dict(documented()) == {name: set(value) for name, value in shapes.items()}
    assert found["schema"] == "touchline.audit/1"
    assert set(found["summary"]["by_project"][0]) == set(found["summary"]["total"])


def test_a_file_and_several_paths_are_audited(logs: Path) -> None:
    found = audited(logs / "claude" / "loop.jsonl", logs / "codex")
    assert {session["agent"] for session in found["sessions"]} == {"claude", "codex"}
    assert found["files"] == 1 + len(list((logs / "codex").iterdir()))


def test_filters_narrow_and_are_reported(logs: Path) -> None:
    assert {s["agent"] for s in audited(logs, "--agent", "gemini", "--agent", "codex")["sessions"]} == {
        "gemini",
        "codex",
    }
    found = audited(logs, "--project", "FALSE-completion")
    assert [s["project"] for s in found["sessions"]] == ["/workspace/false-completion"]
    assert found["filters"]["project"] == "FALSE-completion"
    recent = audited(logs, "--since", "2026-11-16T00:00:00Z")["sessions"]
    assert 0 < len(recent) < SAMPLE_COUNT
    assert all(session["ended_at"] >= "2026-11-16" for session in recent)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nowhere.jsonl",), 2, "No such file or folder: nowhere.jsonl"),
        (("--samples", "--since", "soon"), 2, "'soon'"),
        (("--samples", "--agent", "cursor"), 2, "Known agents: acp, claude, codex, gemini, opencode."),
        (("--samples", "--explain", "zzz"), 2, "no session begins with 'zzz'"),
        (("--samples", "--explain", "01a1e1"), 2, "fits 4 sessions"),
        (("--samples", "--html", "nowhere/audit.html"), 2, "there is no folder nowhere"),
        (("--samples", "--jobs", "0"), 2, "--jobs"),
        (("--samples", "--fail-on", "dust"), 2, "--fail-on"),
        (("--samples", "."), 2, "cannot be given together"),
        (("--samples", "--nonsense"), 2, "--nonsense"),
        (("--samples", "--project", "no such project"), 3, "Nothing to audit was found that the filters let through"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_exit_code(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = touchline("audit", *arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_nothing_installed_says_where_it_looked(tmp_path: Path) -> None:
    places = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": str(tmp_path / "cx"), "XDG_DATA_HOME": ""}
    done = touchline("audit", **places)
    assert done.returncode == 3
    assert done.stdout == ""
    assert str(tmp_path / "cx" / "sessions") in done.stderr
    assert str(tmp_path / ".claude" / "projects") in done.stderr


def test_a_folder_of_other_files_reports_them_and_says_nothing_was_found(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x"}')
    done = touchline("audit", tmp_path)
    assert done.returncode == 3
    assert "package.json" in done.stdout


@pytest.mark.parametrize(
    ("log", "what", "code"),
    [
        ("claude/false-completion.jsonl", "contradicted", 1),
        ("claude/false-completion.jsonl", "unverified", 1),
        ("codex/hedged-completion.jsonl", "unverified", 1),
        ("codex/hedged-completion.jsonl", "contradicted", 0),
        ("claude/loop.jsonl", "loops", 1),
        ("claude/honest-completion.jsonl", "loops", 0),
        ("claude/honest-completion.jsonl", "unverified", 0),
    ],
)
def test_fail_on_is_for_nightly_jobs(log: str, what: str, code: int) -> None:
    assert touchline("audit", SAMPLES / log, "--fail-on", what).returncode == code


def test_explain_shows_every_call_claim_and_the_coach() -> None:
    done = touchline("audit", "--samples", "--explain", "dd4673c9")
    assert done.returncode == 0
    words = " ".join(done.stdout.split())
    assert "call 3 Bash: python3 -m unittest -v exit 1" in words
    assert "contradicted: “All 4 tests pass, so the fix is complete and ready to merge.”" in words
    assert "decision continue (completion rejected)" in words
    assert "[System Coach]" in words


def test_hostile_text_of_a_log_reaches_neither_terminal_nor_page(tmp_path: Path) -> None:
    text = (SAMPLES / "claude" / "false-completion.jsonl").read_text(encoding="utf-8")
    hostile = "[bold]</script><img src=x onerror=alert(1)>\\u001b]0;owned\\u0007\\u202e "
    log = tmp_path / "hostile.jsonl"
    log.write_text(text.replace("All 4 tests pass", hostile + "All 4 tests pass"), encoding="utf-8")
    page = tmp_path / "audit.html"
    for arguments in ((), ("--explain", "dd4673c9")):
        shown = touchline("audit", log, "--html", page, *arguments, FORCE_COLOR="1").stdout
        assert "onerror" in shown
        assert "[bold]" in shown
        assert not {"\x1b]", "\x07", "\u202e"} & set(shown)
        assert "\x1b]0" not in shown
    written = page.read_text(encoding="utf-8")
    assert "<img" not in written
    assert "&lt;img src=x onerror=alert(1)&gt;" in written


def test_the_page_is_written_and_named_on_stderr(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    done = touchline("audit", "--samples", "--html", page)
    assert done.returncode == 0
    assert str(page) in done.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_demo_shows_all_four_and_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = touchline("demo", "--audit")
    assert done.returncode == 0, done.stderr
    assert "out/audit.html" in done.stderr
    assert (tmp_path / "out" / "audit.html").is_file()
    sessions = {Path(s["path"]).stem: s for s in audited("--samples")["sessions"]}
    assert sessions["honest-completion"]["turns"][0]["verdict"] == "proved"
    assert sessions["crash"]["turns"][-1]["kind"] != "completion"
    assert sessions["loop"]["loops"]
    assert "contradicted" in {turn["verdict"] for turn in sessions_of("false-completion", "claude")}


def sessions_of(stem: str, agent: str) -> list[dict[str, Any]]:
    return [
        turn
        for session in audited("--samples", "--agent", agent)["sessions"]
        if Path(session["path"]).stem == stem
        for turn in session["turns"]
    ]


def test_ctrl_c_ends_with_130_and_leaves_no_worker(tmp_path: Path) -> None:
    record = (SAMPLES / "claude" / "loop.jsonl").read_bytes()
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_bytes(record * 1200)
    process = subprocess.Popen(
        [sys.executable, "-m", "touchline", "audit", str(tmp_path), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    patience = time.monotonic() + 10
    while is_alive(process.pid) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not is_alive(process.pid)


def is_alive(group: int) -> bool:
    """Is any process of the group still there?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_without_the_extra_packages_it_says_what_to_install(tmp_path: Path) -> None:
    for name in ("typer", "rich"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise ModuleNotFoundError('gone', name={name!r})")
    done = touchline("audit", "--samples", PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}")
    assert done.returncode == 2
    assert "pipx install --force ." in done.stderr
    assert "Traceback" not in done.stderr


def test_help_teaches_and_version_is_one_line() -> None:
    told = touchline("audit", "--help").stdout
    assert "Examples:" in told
    assert "Exit codes:" in told
    assert re.fullmatch(r"touchline \d+\.\d+\.\d+\S*\n", touchline("--version").stdout)
    assert "touchline demo" in touchline().stdout + touchline().stderr
