"""Log files: turned over when they have grown, by several processes at a time, and never in anybody's way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.people import person_at

from touchline.cli.log_file import LogFile, log_file
from touchline.settings.sections import LogSection


def test_it_is_turned_over_and_so_many_are_kept(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "a" / "x.log", LogSection(bytes=10_000, files=2))
    for number in range(600):
        file.write(f"line {number} " + "x" * 80)
    names = sorted(path.name for path in file.path.parent.glob("x.log*"))
    assert names == ["x.log", "x.log.1", "x.log.2", "x.log.lock"]
    assert all(path.stat().st_size < 10_500 for path in file.path.parent.iterdir())
    kept = "".join((file.path.parent / name).read_text() for name in ("x.log.2", "x.log.1", "x.log"))
    numbers = [int(line.split()[3]) for line in kept.splitlines()]
    assert numbers == list(range(numbers[0], 600)), "no line is lost in between"


def test_several_processes_write_to_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from touchline.cli.log_file import LogFile\n"
        "from touchline.settings.sections import LogSection\n"
        "file = LogFile(Path(sys.argv[1]), LogSection(bytes=10_000, files=50))\n"
        "for n in range(300): file.write(f'{sys.argv[2]} {n} ' + 'x' * 60)\n"
    )
    line = [sys.executable, "-c", code, str(tmp_path / "x.log")]
    started = [subprocess.Popen([*line, str(each)]) for each in range(3)]
    assert [each.wait() for each in started] == [0, 0, 0]
    lines = [line for path in tmp_path.glob("x.log*") for line in path.read_text().splitlines()]
    assert len(lines) == 900
    assert len({tuple(each.split()[2:4]) for each in lines}) == 900


def test_what_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_text("")
    LogFile(tmp_path / "in-the-way" / "x.log", LogSection()).write("words")


def test_a_test_does_not_write_into_a_persons_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert log_file("worker") is None
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TOUCHLINE_LOG_BYTES", "20000")
    found = log_file("worker")
    assert found is not None
    assert found.path == tmp_path / "touchline" / "worker.log"


def test_a_fault_of_ours_is_kept_in_the_log(tmp_path: Path) -> None:
    person = person_at(tmp_path)
    code = (
        "import sys, touchline.cli.decide as d\n"
        "def broken(): raise ZeroDivisionError('on purpose')\n"
        "d.decide = broken\n"
        "sys.argv = ['touchline', 'decide']\n"
        "from touchline.__main__ import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=person.env,
        cwd=person.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70, done.stderr
    kept = (person.home / "state" / "touchline" / "touchline.log").read_text()
    assert "ZeroDivisionError: on purpose" in kept
    assert os.stat(person.home / "state" / "touchline" / "touchline.log").st_mode & 0o077 == 0


def test_what_a_worker_tells_is_kept(tmp_path: Path) -> None:
    person = person_at(tmp_path)
    code = (
        "import logging; from touchline.cli.worker_run import _log_to_stderr\n"
        "_log_to_stderr(); logging.getLogger('touchline.engine').warning('took over %s', 'others')\n"
    )
    subprocess.run([sys.executable, "-c", code], env=person.env, cwd=person.root, check=True, capture_output=True)
    kept = (person.home / "state" / "touchline" / "worker.log").read_text()
    assert kept.endswith("WARNING touchline.engine took over others\n")
