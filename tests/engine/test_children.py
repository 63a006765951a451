"""A child process ends with its parent, and nothing that it started is left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine import sample_jobs
from tests.engine.zygote import Zygote

from touchline.engine.children import end_leftovers, run_process
from touchline.errors import EngineError

FATHER = "tests.engine.sample_programs.father"


def wait_until(true: Callable[[], object], seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it does not happen"
        time.sleep(0.02)


def pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def records(folder: Path) -> list[Path]:
    return list((folder / "children").glob("*"))


def test_it_runs_to_its_end_and_says_how(tmp_path: Path) -> None:
    out = tmp_path / "log" / "out"
    ended = run_process(
        ["sh", "-c", "echo here; echo there >&2; pwd; exit 3"], records=tmp_path / "children", cwd=tmp_path, output=out
    )
    assert (ended.how, ended.exit_code) == ("exited", 3)
    assert out.read_text() == f"here\nthere\n{tmp_path}\n"
    assert records(tmp_path) == []


@pytest.mark.parametrize(("command", "code"), [(["/no/such/program"], 127), (["/etc/passwd"], 126)])
def test_a_program_that_cannot_run(tmp_path: Path, command: list[str], code: int) -> None:
    out = tmp_path / "out"
    assert run_process(command, records=tmp_path / "children", output=out).exit_code == code
    assert command[0] in out.read_text()


def test_no_command_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no command"):
        run_process([], records=tmp_path)


def test_a_slow_one_is_ended_even_if_it_will_not_listen(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    ended = run_process([sys.executable, "-c", deaf], records=tmp_path / "children", timeout=0.5, grace=0.3)
    assert (ended.how, ended.exit_code) == ("timed_out", -9)
    polite = run_process(["sleep", "60"], records=tmp_path / "children", must_stop=lambda: True)
    assert (polite.how, polite.exit_code) == ("stopped", -15)


def test_what_it_left_in_the_background_ends_with_it(tmp_path: Path) -> None:
    left = f"setsid sleep 60 & echo $! > {tmp_path}/pid"
    assert run_process(["sh", "-c", left], records=tmp_path / "children").exit_code == 0
    pid = pid_in(tmp_path / "pid")
    wait_until(lambda: not lives(pid), 3)


def test_killed_parents_take_their_children_along_and_grandchildren_are_ended_at_the_next_start(tmp_path: Path) -> None:
    command = ["sh", "-c", f"setsid sleep 60 & echo $! > {tmp_path}/grandchild; echo $$ > {tmp_path}/child; sleep 60"]
    with Zygote(tmp_path / "log") as zygote:
        father = zygote.spawn(FATHER, folder=str(tmp_path), command=command)
        child, grandchild = pid_in(tmp_path / "child"), pid_in(tmp_path / "grandchild")
        assert lives(child)
        assert lives(grandchild)
        sample_jobs.end(father)
        assert zygote.wait(father) == -9
        wait_until(lambda: not lives(child), 3)
        assert lives(grandchild), "the test would show nothing"
        assert end_leftovers(tmp_path / "children") >= 1
        wait_until(lambda: not lives(grandchild), 3)
        assert records(tmp_path) == []
        assert end_leftovers(tmp_path / "children") == 0


def test_children_of_the_living_are_left_alone(tmp_path: Path) -> None:
    with Zygote(tmp_path / "log") as zygote:
        command = ["sh", "-c", f"echo $$ > {tmp_path}/child; sleep 60"]
        father = zygote.spawn(FATHER, folder=str(tmp_path), command=command)
        child = pid_in(tmp_path / "child")
        assert end_leftovers(tmp_path / "children") == 0
        assert lives(child)
        sample_jobs.end(father)
        zygote.wait(father)


def test_a_record_of_an_old_process_with_a_number_that_is_anothers_now(tmp_path: Path) -> None:
    """The number is ours, the start time and the token are not: it must not be ended."""
    from touchline.engine.child_start import boot

    folder = tmp_path / "children"
    folder.mkdir()
    text = '{"pid": %d, "started": 1, "parent": 1, "parent_started": -1, "boot": "%s", "token": "none"}'
    (folder / "old.json").write_text(text % (os.getpid(), boot()))
    (folder / "broken.json").write_text("{")
    assert end_leftovers(folder) == 0
    assert [path.name for path in records(tmp_path)] == ["broken.json"]
