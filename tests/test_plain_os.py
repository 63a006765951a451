"""Paths are told as `os.path` tells them, folders made as `os` makes them, and `os` is not loaded for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import touchline
from touchline import plain_os

paths = st.text(alphabet="/.ab~ é\udcff", max_size=12)


@given(path=paths, more=st.lists(paths, max_size=3))
def test_paths_are_told_as_usual(path: str, more: list[str]) -> None:
    assert plain_os.join(path, *more) == os.path.join(path, *more)
    assert plain_os.dirname(path) == os.path.dirname(path)
    assert plain_os.isabs(path) == os.path.isabs(path)
    assert plain_os.abspath(path) == os.path.abspath(path)


def test_what_is_there_is_told_as_usual(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "to_file").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("", "file", "link", "to_file", "pipe", "none", "file/below", "with\0null"):
        path = os.path.join(tmp_path, name)
        assert plain_os.exists(path) == os.path.exists(path), name
        assert plain_os.isfile(path) == os.path.isfile(path), name
        assert plain_os.isdir(path) == os.path.isdir(path), name


def test_folders_are_made_and_the_last_is_private(tmp_path: Path) -> None:
    last = tmp_path / "a" / "b" / "c"
    for _ in range(2):
        plain_os.makedirs(str(last), 0o700)
        assert last.stat().st_mode & 0o777 == 0o700
    assert last.parent.stat().st_mode & 0o777 == 0o777 & ~_umask()
    (tmp_path / "file").touch()
    for taken in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            plain_os.makedirs(str(taken), 0o700)
    for path in ("", "/proc/nothing", "/proc/nothing/below"):
        with pytest.raises(OSError):  # noqa: PT011 - which one differs
            plain_os.makedirs(path, 0o700)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_variables_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEW", "set since")
    assert plain_os.environment()["NEW"] == "set since"
    program = (
        "import sys; sys.path.append(sys.argv[1]); from touchline.plain_os import environment, home_of; "
        "env = environment(); print(ascii(env['ODD']), home_of(env), 'os' in sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", program, str(Path(touchline.__file__).parents[1])]
    done = subprocess.run(command, env={b"ODD": b"\xffx", b"HOME": b"/h"}, capture_output=True, check=True)
    assert done.stdout == b"'\\udcffx' /h False\n"
    assert plain_os.home_of({}) == os.path.expanduser("~")
