"""The rules of the house: short files, one import direction, a light core, clean style and types."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
SHUNNED = {"utils", "helpers", "common", "base", "core", "manager", "misc"}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, check=False)


def test_there_are_sources() -> None:
    assert len(SOURCES) > 30


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_every_file_is_short_named_well_and_says_its_question(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert path.stem not in SHUNNED
    if text.strip():
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring, "a module opens by saying which question it answers"


def test_imports_go_one_way() -> None:
    done = run(BIN / "lint-imports", "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr


def test_style() -> None:
    done = run(BIN / "ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout
    done = run(BIN / "ruff", "format", "--no-cache", "--check", ".")
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(600)
def test_types() -> None:
    done = run(BIN / "mypy")
    assert done.returncode == 0, done.stdout


def test_import_touchline_loads_the_standard_library_only() -> None:
    code = "import sys, json; before = set(sys.modules); import touchline; {use}; " + (
        "print(json.dumps(sorted({m.split('.')[0] for m in set(sys.modules) - before})))"
    )
    use = "; ".join(f"touchline.{name}" for name in ("read_turn", "read_log", "ledger_of", "classify", "coach"))
    for spoken in (
        "touchline.__version__",
        f"{use}; touchline.find_thrash; touchline.check_contract; touchline.decide",
    ):
        # -I -S: nothing that a site or the environment adds; the package is found by its path alone.
        start = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); "
        done = run(sys.executable, "-I", "-S", "-c", start + code.replace("{use}", spoken))
        assert done.returncode == 0, done.stderr
        loaded = set(json.loads(done.stdout)) - {"touchline"}
        assert loaded <= set(sys.stdlib_module_names), loaded - set(sys.stdlib_module_names)


def test_the_face_is_all_there() -> None:
    import touchline

    for name in touchline.__all__:
        assert getattr(touchline, name) is not None
    assert set(touchline.__all__) <= set(dir(touchline))
    with pytest.raises(AttributeError, match="no_such_thing"):
        touchline.no_such_thing  # noqa: B018
