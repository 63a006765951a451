"""A disk of a few megabytes, and how it gets full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A file system of a few megabytes, in memory."""
    folder.mkdir()
    options = ["-o", f"size={size},mode=0755"]
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("a small disk cannot be mounted here; the page limit below tests the same on SQLite")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the space there is."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 512):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return filler
