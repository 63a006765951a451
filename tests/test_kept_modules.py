"""Modules that come from a kept file are the same as others, and the file itself is whole or not there."""

from __future__ import annotations

import json.decoder
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import touchline
from touchline import kept_file
from touchline.kept_modules import _loaded_or_found


def test_what_an_import_asks_for_is_found_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _loaded_or_found("json.decoder", None, None, ("JSONDecoder",)) is json.decoder
    assert _loaded_or_found("json.decoder") is json
    assert _loaded_or_found("json", None, None, ("decoder",)) is json
    monkeypatch.setitem(sys.modules, "decoder", ModuleType("decoder"))
    inside = {"__package__": "json", "__name__": "json.x"}
    assert _loaded_or_found("decoder", inside, None, ("JSONDecoder",), 1) is json.decoder
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _loaded_or_found("no_such_module", None, None, ("a",))


def test_a_bundle_is_loaded_where_its_package_is_not_yet(tmp_path: Path) -> None:
    """It was, when the bundle was made, so it is not in it."""

    def run(*names: str) -> bytes:
        program = (
            "import sys; sys.path.append(sys.argv[1]); from touchline.kept_modules import use_kept; "
            f"keep = use_kept('hooks'); import {', '.join(names)}; keep(); "
            "print(type(sys.modules['touchline.hooks.limits_kept'].__loader__).__name__)"
        )
        command = [sys.executable, "-I", "-S", "-c", program, str(Path(touchline.__file__).parents[1])]
        return subprocess.run(command, env={"HOME": str(tmp_path)}, stdout=subprocess.PIPE, check=True).stdout

    assert run("touchline.settings", "touchline.hooks.limits_kept") == b"SourceFileLoader\n"
    assert run("touchline.hooks.limits_kept") == b"KeptModules\n"


def test_what_a_killed_writer_left_is_taken_away(tmp_path: Path) -> None:
    path, left = str(tmp_path / "a.bin"), tmp_path / "a.bin.new"
    kept = kept_file.Pieces()
    kept.added["x"] = (None, b"y")
    left.write_bytes(b"half")
    assert not kept_file.write(path, (kept,)), "somebody may be writing it"
    assert left.exists()
    os.utime(left, times=(0, time.time() - kept_file.LEFT_SECONDS - 1))
    assert not kept_file.write(path, (kept,))
    assert kept_file.write(path, (kept,))
    assert [each.name for each in tmp_path.iterdir()] == ["a.bin"]
    found = kept_file.read(path)
    assert found is not None
    assert found[0].get("x") == (None, b"y")
