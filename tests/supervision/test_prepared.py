"""A store is a short cut and nothing else: with it, without it and with a broken one, the rules find the same."""

from __future__ import annotations

import json
import marshal
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import touchline
from touchline.supervision import prepared

PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from touchline.supervision import prepared
prepared.use(sys.argv[2])
from touchline.supervision.evidence import Ledger
from touchline.supervision.phases import phases
from touchline.supervision.stop import classify
texts = __import__("json").load(open(sys.argv[3])) if sys.argv[3] else []
found = [[repr(classify(t)), repr(classify(t, ledger=Ledger(), task="Please fix it."))] for t in texts]
found.append(repr(phases()))
loaded = sorted({"re", "tomllib", "enum", "functools", "collections"} & set(sys.modules)) if not texts else []
prepared.keep()
print(repr([found, loaded]))
"""
TEXTS = [
    "I fixed the parser. All 12 tests pass.",
    "Should work now; I did not run the tests.",
    "Shall I go on with the lexer?",
    "I'm blocked: the API key is missing. Please add it to `.env`.",
    "39 passed, 3 failed. Next I will look at `test_lexer`.",
    'Traceback (most recent call last):\n  File "a.py"\nValueError: no',
]


def told(store: Path, texts: str = "") -> str:
    home = str(Path(touchline.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, home, str(store), texts],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def texts(tmp_path: Path) -> str:
    path = tmp_path / "texts.json"
    path.write_text(json.dumps(TEXTS))
    return str(path)


def test_the_second_start_compiles_nothing_and_finds_the_same(tmp_path: Path, texts: str) -> None:
    store = tmp_path / "deep" / "rules.bin"
    first = told(store, texts)
    kept = store.read_bytes()
    assert told(store, texts) == first
    assert store.read_bytes() == kept
    assert told(store).endswith(", []]\n")
    assert store.stat().st_mode & 0o077 == 0


def test_a_module_is_loaded_from_the_store_until_its_file_changes(tmp_path: Path) -> None:
    """From a copy of the package, so that one of its files can be changed."""
    home = tmp_path / "packages"
    shutil.copytree(Path(touchline.__file__).parent, home / "touchline", ignore=shutil.ignore_patterns("__pycache__"))
    program = """
import sys
sys.path.append(sys.argv[1])
from touchline.supervision import prepared
prepared.use(sys.argv[2])
from touchline.supervision import stop, stops
loaders = [type(each.__spec__.loader).__name__ for each in (stop, stops)]
prepared.keep()
print(loaders, stop.__file__, stop.__package__, getattr(stops, "CHANGED", False))
"""

    def run() -> str:
        command = [sys.executable, "-I", "-S", "-B", "-c", program, str(home), str(tmp_path / "rules.bin")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    changed = home / "touchline" / "supervision" / "stops.py"
    where = f"{home}/touchline/supervision/stop.py touchline.supervision"
    assert run() == f"['SourceFileLoader', 'SourceFileLoader'] {where} False\n"
    assert run() == f"['KeptModules', 'KeptModules'] {where} False\n"
    changed.write_text(changed.read_text() + "\nCHANGED = True\n")
    # What one import brought with it is kept together, and made anew together.
    assert run() == f"['SourceFileLoader', 'SourceFileLoader'] {where} True\n"
    assert run() == f"['KeptModules', 'KeptModules'] {where} True\n"


@pytest.mark.parametrize("damage", ["cut", "flipped", "other_python", "empty", "noise", "folder"])
def test_a_store_that_does_not_fit_is_not_used(tmp_path: Path, texts: str, damage: str) -> None:
    store = tmp_path / "rules.bin"
    first = told(store, texts)
    raw = store.read_bytes()
    head, _, body = raw.partition(b"\n")
    broken = {
        "cut": raw[:-5],
        "flipped": raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:],
        "other_python": head.replace(head.split()[1], b"0" * 32) + b"\n" + body,
        "empty": b"",
        "noise": b"\xff\x00" * 50 + b"\n\n",
    }
    if damage == "folder":
        store.unlink()
        store.mkdir()
    else:
        store.write_bytes(broken[damage])
    assert told(store, texts) == first
    if damage != "folder":
        assert store.read_bytes().partition(b"\n")[0] == head


def test_code_that_cpython_refuses_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    prepared.use(str(tmp_path / "rules.bin"))
    needed, parts = kept_of(r"(?P<a>x+)y")
    *others, code = marshal.loads(parts)
    prepared._store.shapes.added[r"(?P<a>x+)z"] = (needed, marshal.dumps((*others, code[:-1])))
    match = prepared.shape(r"(?P<a>x+)z").match("xxz")
    assert match is not None
    assert match["a"] == "xx"


def test_without_cpythons_private_parts_patterns_work_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    prepared.use(str(tmp_path / "rules.bin"))
    monkeypatch.setitem(sys.modules, "_sre", None)
    assert prepared.shape("(?i)Never Seen Before+").search("it was never seen beforee")
    prepared.keep()
    assert not (tmp_path / "rules.bin").exists()


@pytest.mark.parametrize(
    "pattern", [r"(?P<a>x+)y|(?P<b>z)", r"(?i)straße|ŉ", r"(?ms)^a.b$", r"(?x) a  b # c", r"(\w)(?=\1)", "[未沒]$"]
)
def test_a_kept_pattern_equals_the_compiled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    fresh(monkeypatch)
    prepared.use(str(tmp_path / "rules.bin"))
    kept_of(pattern)
    prepared.keep()
    fresh(monkeypatch)
    prepared.use(str(tmp_path / "rules.bin"))
    assert prepared._store.shapes.get(pattern) is not None
    again = prepared.shape(pattern)
    assert again == re.compile(pattern)
    assert again.groupindex == re.compile(pattern).groupindex
    assert not prepared._store.new


def test_without_a_store_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh(monkeypatch)
    prepared.shape("one more+")
    prepared.keep()
    assert not prepared._store.new
    assert prepared.store_path({}) == prepared.store_path({"HOME": "here", "XDG_CACHE_HOME": "there"}) == ""
    assert prepared.store_path({"HOME": "/h"}).startswith("/h/.cache/touchline/rules-")
    assert prepared.store_path({"HOME": "/h", "XDG_CACHE_HOME": "/c"}).startswith("/c/touchline/rules-")


def test_a_store_that_was_never_closed_stands_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.meta_path.copy()
    monkeypatch.setattr(sys, "meta_path", before.copy())
    for name in ("one", "two"):
        fresh(monkeypatch)  # forgets the store, not the finder
        prepared.use(str(tmp_path / name))
    monkeypatch.delitem(sys.modules, "touchline.supervision.judge", raising=False)
    import touchline.supervision.judge

    assert type(touchline.supervision.judge.__loader__).__name__ == "SourceFileLoader"
    prepared.use(str(tmp_path / "three"))
    prepared.keep()
    assert len(sys.meta_path) == len(before) + 1


def test_a_wrong_pattern_is_an_error_of_re() -> None:
    with pytest.raises(re.error):
        prepared.shape("(open")


def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_store", prepared._Store())
    monkeypatch.setattr(prepared, "_shapes", {})


def kept_of(pattern: str) -> tuple[Any, bytes]:
    return prepared._taken_apart(pattern, prepared.shape(pattern))
