"""The wheel and the sdist: everything inside that the code reads, and it runs from an environment with nothing else."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).resolve().parents[1]
AWAY = re.compile(r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|Network is unreachable")
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def built() -> Iterator[Path]:
    """A folder with both, built as `make dist` does."""
    pytest.importorskip("hatchling", reason="hatchling is not installed; make venv installs it")
    with TemporaryDirectory(prefix="touchline-dist-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", folder],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield Path(folder)


def wheel_in(folder: Path) -> Path:
    (found,) = folder.glob("*.whl")
    return found


def shipped() -> set[str]:
    """Every file of the package that is not made by running it."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT / "src").as_posix() for path in files}


def test_every_file_of_the_package_is_in_the_wheel_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(wheel_in(built)) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {Path(name).suffix for name in inside} >= {
        ".toml",
        ".json",
        ".md",
        ".html",
        ".css",
        ".js",
        ".jsonl",
        ".yaml",
    }
    assert inside == shipped()


def test_the_wheel_is_small_and_needs_what_it_says(built: Path) -> None:
    path = wheel_in(built)
    with zipfile.ZipFile(path) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        told = email.message_from_bytes(wheel.read(name))
        licences = [each for each in wheel.namelist() if "/licenses/" in each]
    assert path.stat().st_size < 2_000_000
    assert licences
    assert (told["Requires-Python"], told["License-Expression"]) == (">=3.11", "Apache-2.0")
    needed = {re.split(r"[^\w.-]", each)[0] for each in told.get_all("Requires-Dist", []) if "extra ==" not in each}
    assert needed == {
        "alembic",
        "dbos",
        "genai-prices",
        "psycopg",
        "pydantic",
        "rich",
        "ruamel-yaml",
        "sqlalchemy",
        "typer",
    }


def test_what_make_dist_prints_is_the_size_and_what_is_needed(built: Path) -> None:
    line = [sys.executable, str(ROOT / "scripts" / "wheel.py"), str(built)]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^[\d,]+ kB  {re.escape(str(wheel_in(built)))}$", told, re.MULTILINE)
    assert {"  alembic>=1.14", "  ruamel-yaml>=0.18", "  orjson>=3.10; extra == 'fast'"} <= set(told.splitlines())
    assert "pytest" not in told
    assert "scripts/wheel.py dist" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_sdist_holds_what_the_wheel_is_built_from(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {f"src/{name}" for name in shipped()} <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_it_installs_and_runs_where_nothing_else_is(built: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    # Not even pip is in it: to put it there takes as long as a quarter of what it installs.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        place / "bin" / "python",
        "install",
        "-q",
        "--no-compile",
        "--retries",
        "0",
        "-c",
        ROOT / "constraints.txt",
        wheel_in(built),
    ]
    got = subprocess.run([str(each) for each in install], capture_output=True, text=True, check=False, cwd=tmp_path)
    if got.returncode != 0 and AWAY.search(got.stderr):
        pytest.skip("no package index can be reached, and the dependencies come from one")
    assert got.returncode == 0, got.stderr
    kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
    home = tmp_path / "home"
    home.mkdir()
    env = {**kept, "HOME": str(home), "PATH": f"{place / 'bin'}:/usr/bin:/bin", "NO_COLOR": "1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(place / "bin" / "touchline"), *arguments],
            cwd=home,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    told = json.loads(run("--version", "--json").stdout)
    assert Path(told["installed"]).is_relative_to(place)
    assert told["packages"]["pydantic-ai-slim"] is None, "extras are not installed"
    audited = run("demo", "--audit")
    assert audited.returncode == 0, audited.stderr
    assert (home / "out").is_dir()
    played = run("demo")
    assert played.returncode == 0, f"{played.stdout}\n{played.stderr}"
    explained = run("config", "explain", "run.check")
    assert "Touchline runs itself" in " ".join(explained.stdout.split()), "meanings are read from the installed source"
