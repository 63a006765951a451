"""What a specification rests on: what must be there, what may be, and what is wrong is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.roles.briefs import repository_at

from touchline.errors import SpecError
from touchline.roles.specification.context import in_words, load_context
from touchline.roles.specification.lessons import load_lessons, write_lesson


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_at(tmp_path / "repo")


def idea(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_md", ".md").replace("_", "-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_folder_brings_all_its_documents(tmp_path: Path, repository: Path) -> None:
    folder = idea(
        tmp_path / "idea",
        README_md="A notes app.",
        planning__brief_md="People lose notes.",
        research__market_md="Many want it.",
        target_users_md="Students.",
        stray_md="not asked for",
    )
    context = load_context(folder, repository)
    assert context.brief == "People lose notes."
    assert dict(context.documents) == {
        "README.md": "A notes app.",
        "target-users.md": "Students.",
        "research/market.md": "Many want it.",
    }
    assert context.names == ("planning/brief.md", "README.md", "target-users.md", "research/market.md", "AGENTS.md")
    assert "From AGENTS.md:\nUse tabs." in context.conventions
    assert [g.text for g in context.gotchas] == ["Name every constraint."], "what is unsure is left out"
    words = in_words(context.codebase)
    assert "Python" in words
    assert "`make test` (from Makefile)" in words


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "README.md and planning/brief.md are not there"),
        ({"README_md": "x"}, "planning/brief.md is not there"),
        ({"README_md": "x", "planning__brief_md": " \n"}, ":1: the brief is empty"),
    ],
)
def test_what_must_be_there_is_named(tmp_path: Path, repository: Path, files: dict[str, str], says: str) -> None:
    (tmp_path / "idea").mkdir()
    with pytest.raises(SpecError, match=says) as caught:
        load_context(idea(tmp_path / "idea", **files), repository)
    assert caught.value.hint


def test_a_single_brief_is_enough_and_must_be_readable(tmp_path: Path, repository: Path) -> None:
    brief = tmp_path / "brief.md"
    brief.write_text("Build it.")
    assert load_context(brief, repository).names == ("brief.md", "AGENTS.md")
    brief.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="cannot be read"):
        load_context(brief, repository)
    with pytest.raises(SpecError, match="no such file"):
        load_context(tmp_path / "none.md", repository)
    brief.write_text("x" * 200_001)
    with pytest.raises(SpecError, match="too many"):
        load_context(brief, repository)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("---\npattern: '*.py'\n", r"lessons/bad\.md:1: the front matter is not closed"),
        ("---\nconfidence: [\n---\nx\n", r"lessons/bad\.md:\d: this is not YAML"),
        ("---\nconfidence: much\n---\nx\n", r"lessons/bad\.md:2: the confidence 'much'"),
        ("---\nkolour: red\n---\nx\n", r"lessons/bad\.md:2: 'kolour' is not known"),
        ("---\nkind: gotcha\n---\n", r"lessons/bad\.md:4: the lesson says nothing"),
    ],
)
def test_a_broken_lesson_is_named_with_its_line(repository: Path, text: str, says: str) -> None:
    (repository / ".touchline/lessons/bad.md").write_text(text)
    with pytest.raises(SpecError, match=says):
        load_lessons(repository)


def test_a_lesson_that_was_kept_is_read_back(repository: Path) -> None:
    (first, second) = load_lessons(repository)
    write_lesson(repository, "again", first)
    assert {g.text for g in load_lessons(repository)} == {first.text, second.text}
    assert next(g for g in load_lessons(repository) if g.source.endswith("again.md")).pattern == "*.sql"
