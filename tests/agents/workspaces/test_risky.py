"""Which parts of a change are marked, and which are not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from touchline.agents.workspaces.changes import Changes, FileChange
from touchline.agents.workspaces.names import refused_name
from touchline.agents.workspaces.risky import LARGE_BYTES, READ_BYTES, risky

PLAIN = FileChange(
    path="src/app.py",
    status="changed",
    old_path="src/app.py",
    insertions=1,
    deletions=1,
    old_mode="100644",
    new_mode="100644",
    old_blob="old",
    new_blob="new",
)


def kinds(file: FileChange, old: bytes | None = b"a\n", new: bytes | None = b"b\n") -> set[str]:
    found = risky(Changes(base="1", commit="2", files=(file,)), {"old": old, "new": new}.get)
    assert all(risk.path == file.path and risk.why for risk in found)
    return {risk.kind for risk in found}


def named(path: str) -> FileChange:
    return replace(PLAIN, path=path, old_path=path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".husky/pre-commit", "git-hooks"),
        (".pre-commit-config.yaml", "git-hooks"),
        ("sub/.gitattributes", "git-settings"),
        (".github/workflows/test.yml", "ci"),
        (".github/workflows/deep/x.yml", "ci"),
        (".gitlab-ci.yml", "ci"),
        ("Jenkinsfile", "ci"),
        (".vscode/tasks.json", "editor"),
        ("packages/a/.vscode/settings.json", "editor"),
        (".idea/workspace.xml", "editor"),
        (".claude/settings.json", "agent-settings"),
        (".mcp.json", "agent-settings"),
        ("docs/AGENTS.md", "agent-settings"),
        ("CLAUDE.md", "agent-settings"),
        ("tests/conftest.py", "test-start"),
        ("setup.py", "build"),
        ("Makefile", "build"),
        ("lib/GNUmakefile", "build"),
        ("Dockerfile", "container"),
        ("site.pth", "python-path"),
        (".bashrc", "shell-start"),
        (".envrc", "shell-start"),
        ("package-lock.json", "lock-file"),
        ("keys/server.pem", "secrets"),
        (".npmrc", "package-settings"),
        ("-rf", "name"),
        ("a\u202egpj.exe", "name"),
    ],
)
def test_by_name(path: str, kind: str) -> None:
    assert kinds(named(path)) == {kind}
    moved = replace(PLAIN, path="harmless.txt", old_path=path, status="renamed")
    assert kind == "name" or kinds(moved) == {kind}


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py",
        "docs/ci.md",
        "src/makefile_reader.py",
        "tests/test_hooks.py",
        "github/workflows/x.yml",
        "claude.py",
    ],
)
def test_ordinary_files_are_not_marked(path: str) -> None:
    assert kinds(named(path)) == set()


def test_package_scripts_only_when_they_changed() -> None:
    before = {"name": "x", "version": "1", "scripts": {"test": "jest"}}
    file = named("web/package.json")
    assert kinds(file, json.dumps(before).encode(), json.dumps({**before, "version": "2"}).encode()) == set()
    after = {**before, "scripts": {"test": "jest", "postinstall": "node x.js"}}
    found = risky(
        Changes(base="1", commit="2", files=(file,)),
        {"old": json.dumps(before).encode(), "new": json.dumps(after).encode()}.get,
    )
    assert [risk.kind for risk in found] == ["package-scripts"]
    assert "postinstall already when it is installed" in found[0].why
    assert kinds(file, json.dumps(before).encode(), b"{ not json") == {"package-scripts"}


def test_pyproject_only_when_something_that_runs_changed() -> None:
    file = named("pyproject.toml")
    before = b'[project]\nname = "x"\n[build-system]\nrequires = ["hatchling"]\n'
    assert kinds(file, before, before.replace(b'"x"', b'"y"')) == set()
    assert kinds(file, before, before.replace(b"hatchling", b"evil")) == {"build"}
    assert kinds(file, before, before + b"[tool.hatch.build.hooks.custom]\npath = 'x.py'\n") == {"build"}
    assert kinds(file, before, b"[[[") == {"build"}


def test_by_kind() -> None:
    link = replace(named("a/link"), new_mode="120000", status="added", old_mode="000000")
    for target, kind in {
        b"../b/file": "link",
        b"x": "link",
        b"/etc/passwd": "link-outside",
        b"../../x": "link-outside",
        b"..": "link",
        b"../..": "link-outside",
        b"../.git/hooks": "link-outside",
    }.items():
        assert kinds(link, None, target) == {kind}, target
    assert kinds(replace(PLAIN, new_mode="160000")) == {"submodule"}
    assert kinds(replace(PLAIN, new_mode="100755")) == {"executable"}
    assert kinds(replace(PLAIN, new_mode="100755", old_mode="100755")) == set()
    assert kinds(replace(PLAIN, insertions=None, deletions=None)) == {"binary"}
    assert kinds(PLAIN, b"", b"x\n" * LARGE_BYTES) == {"large"}
    assert kinds(PLAIN, b"", None) == {"large"}
    assert READ_BYTES > LARGE_BYTES
    assert kinds(replace(PLAIN, status="deleted", new_mode="000000", insertions=0)) == set()


@pytest.mark.parametrize(
    "text", ["if user\u202e == admin", "a\u200bb", "\x1b[2J", "x\U000e0041", "a\u2066b", "ａ\u3164"]
)
def test_characters_that_cannot_be_seen(text: str) -> None:
    assert kinds(PLAIN, b"", text.encode()) == {"hidden-characters"}
    assert kinds(PLAIN, text.encode() + b"\n", text.encode() + b"\nmore") == set(), "it was there before"


def test_other_writings_are_not_marked() -> None:
    assert kinds(PLAIN, b"", "Ärger, 日本語, עברית, 👍🏽, tab\there\r\n\f".encode()) == set()
    assert kinds(PLAIN, b"", "\ufeffbegins with a mark".encode()) == set()


def test_names_that_are_one_on_some_systems_and_folders_that_are_repositories() -> None:
    added = [
        replace(named(path), status="added", old_mode="000000")
        for path in ("Read", "read", "x/HEAD", "x/config", "y/HEAD", "z/config")
    ]
    found = risky(Changes(base="1", commit="2", files=tuple(added)), {"new": b"b\n"}.get)
    assert [(risk.path, risk.kind) for risk in found] == [("read", "name"), ("x/config", "repository")]


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        "a/.GIT/x",
        "git~1",
        "GIT~12/x",
        ".git.",
        ".git ",
        ".git . .",
        ".git:x",
        ".g\u200cit",
        "x\\.git",
        "a/../b",
        "..",
        "a//b",
        "/a",
        "",
        "a\\..\\b",
        "x" * 300,
        "y/" * 600,
        ".gitmodules:x",
        ".gitmodules .",
    ],
)
def test_refused_names(path: str) -> None:
    assert refused_name(path)


@pytest.mark.parametrize(
    "path", [".gitignore", "a/.gitmodules", "git", "git~x", ".github/x", "...", "-x", "a b\nc", "ü/ß"]
)
def test_names_that_are_fine(path: str) -> None:
    assert refused_name(path) == ""
