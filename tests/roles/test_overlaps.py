"""Where two clones of one commit touch the same place, and where they only seem to."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.roles.build import conflicts
from touchline.roles.build.conflicts import Base, changed_lines, changes_in, find_overlaps
from touchline.roles.build.live import _where


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def told(base: Path, one: Path, other: Path) -> list[tuple[str, str]]:
    began = Base(base)
    found = find_overlaps("T-001", changes_in(one, began), "T-002", changes_in(other, began))
    return [(each.file, _where(each)) for each in found]


def test_insertions_changes_removals_and_creations_are_told_apart(tmp_path: Path) -> None:
    base = folder(tmp_path / "base", top="a\nb\n", far="".join(f"{n}\n" for n in range(9)), gone="x\ny\n", own="z\n")
    far = [*range(9)]
    one = folder(tmp_path / "one", top="1\na\nb\n", far="X\n" + "".join(f"{n}\n" for n in far[1:]), new="1", own="z\n")
    last = "".join(f"{n}\n" for n in far[:-1]) + "Y\n"
    other = folder(tmp_path / "other", top="2\na\nb\n", far=last, new="2", gone="x\nY\n", own="Z\n")
    assert told(base, one, other) == [
        ("gone", "lines 2-2"),
        ("new", "which both create"),
        ("top", "before its first line"),
    ]


def test_a_file_behind_the_most_that_are_looked_at_is_not_taken_for_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflicts, "MOST_FILES", 3)
    files = dict.fromkeys("abcde", "x\n")
    base = folder(tmp_path / "base", **files)
    one, other = folder(tmp_path / "one", **files), folder(tmp_path / "other", **files)
    (one / "a").unlink()
    (other / "b").unlink()
    assert changes_in(one, Base(base)).files == {"a"}
    assert told(base, one, other) == []


def test_the_lines_of_a_change_in_a_long_text_of_few_different_lines() -> None:
    lines = [f"    {n % 7}," for n in range(40_000)]
    after = list(lines)
    after[9], after[-5] = "one", "two"
    before = "\n".join(lines) + "\n"
    assert changed_lines(before, "\n".join(after) + "\n") == ((10, 10), (39_996, 39_996))
    assert changed_lines("a\nb\n", "a\nx\nb\n") == ((1, 1),), "an insertion is the line it comes after"
