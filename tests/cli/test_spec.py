"""`touchline spec` and `touchline tasks`, run as a person runs them; what is wrong is told with file and line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import environment, made, said, touchline
from tests.roles.briefs import REQUIREMENTS, answers_at, repository_at

from touchline.models.opening import asker_for
from touchline.roles.specification.making import Made, make_spec

pytestmark = pytest.mark.timeout(120)


@dataclass
class Desk:
    """A repository with a brief, a database and a model."""

    folder: Path
    repo: Path
    model: str

    @property
    def env(self) -> dict[str, str]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {"HOME": str(home), "TOUCHLINE_DATABASE_URL": f"sqlite:///{self.folder / 'app.db'}"}

    def made(self) -> Made:
        """The same without a process."""
        with made(self.env["TOUCHLINE_DATABASE_URL"]) as database:
            return make_spec(database, asker_for(self.model), self.folder / "brief.md", repository=self.repo)

    def said(self, *arguments: str | Path) -> dict[str, Any]:
        return said(*arguments, **self.env)  # type: ignore[arg-type]

    def new(self, *more: str) -> dict[str, Any]:
        arguments: tuple[str | Path, ...] = (
            "spec",
            "new",
            self.folder / "brief.md",
            "--repository",
            self.repo,
            "--model",
            self.model,
            *more,
        )
        return self.said(*arguments)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "brief.md").write_text("People lose notes.")
    return Desk(folder=tmp_path, repo=repository_at(tmp_path / "repo"), model=answers_at(tmp_path / "a.yaml"))


def test_from_a_brief_to_an_approved_specification(desk: Desk) -> None:
    first = desk.new()
    assert (first["schema"], first["status"], first["ready"]) == ("touchline.spec/1", "waiting", True)
    assert first["path"] == str(desk.repo / "specs/small-notes/spec.md")
    shown = touchline("spec", "show", first["id"][:-3], **desk.env)
    assert "People keep notes in one file." in shown.stdout
    assert "FR-001 (must): Add a note" in shown.stdout
    assert "warning: FR-002" in shown.stderr
    refused = touchline("spec", "approve", **desk.env)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert desk.said("spec", "approve", "--yes")["status"] == "approved"
    again = desk.said("spec", "show", desk.repo / "specs/small-notes")
    assert again["status"] == "approved"
    assert again["approved_by"]


def test_a_revision_asks_the_model_with_what_is_there(desk: Desk) -> None:
    first = desk.new("--folder", str(desk.folder / "elsewhere"))
    assert Path(first["path"]) == desk.folder / "elsewhere/spec.md"
    entry = {
        "question": "write_requirements",
        "when": ["no colours", "spec.md as it is now"],
        "answer": {**REQUIREMENTS, "objective": "Without colours."},
    }
    model = answers_at(desk.folder / "b.yaml", entry)
    arguments = ("spec", "revise", first["id"], "no colours", "--model", model, "--repository", desk.repo)
    revised = desk.said(*arguments)
    assert (revised["version"], revised["objective"]) == (2, "Without colours.")
    assert touchline("spec", "revise", " ", "--model", model, **desk.env).returncode == 2


def test_tasks_are_listed_shown_and_drawn(desk: Desk) -> None:
    row = desk.made().row
    listed = touchline("tasks", "list", **desk.env)
    assert [line.split()[2] for line in listed.stdout.splitlines()] == ["T-001", "T-002"]
    one = desk.said("tasks", "show", "T-001")
    assert (one["file"], one["waited_for_by"]) == ("db/migrations/0008_notes.sql", ["T-002"])
    shown = touchline("tasks", "show", "T-002", row.id, **desk.env).stdout
    assert "waits for  T-001" in " ".join(shown.split()).replace("waits for T-001", "waits for  T-001")
    graph = touchline("tasks", "graph", **desk.env).stdout
    assert graph.index("Wave 1") < graph.index("T-001 The table") < graph.index("Wave 2") < graph.index("T-002 Keep")
    assert "waits for T-001" in graph
    dot = touchline("tasks", "graph", "--dot", **desk.env).stdout
    assert '"T-001" -> "T-002";' in dot
    assert desk.said("tasks", "graph")["waves"] == [["T-001"], ["T-002"]]
    missing = touchline("tasks", "show", "T-009", **desk.env)
    assert missing.returncode == 2
    assert "There are: T-001, T-002." in missing.stderr


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


@pytest.mark.parametrize(
    ("command", "change", "says"),
    [
        (
            "tasks graph",
            replaced("depends_on: []", "depends_on: [T-002]"),
            "these tasks wait for each other: T-001 -> T-002 -> T-001",
        ),
        ("tasks list", replaced("- T-001", "- T-077"), "T-002 depends on 'T-077', which is no task"),
        ("spec approve --yes", replaced("action: CREATE", "action: PAINT"), "the action 'PAINT' is not known"),
        ("spec show", replaced("file: notes.py", "file: ../../etc/passwd"), "is not inside the repository"),
        ("spec edit", replaced("phase: database", "phase: [database"), "this is not YAML"),
        ("tasks show T-001", replaced("title: The table", "titel: The table"), "'titel' is no field of a task"),
    ],
    ids=["cycle", "unknown dependency", "unknown action", "path", "yaml", "field"],
)
def test_what_is_wrong_in_tasks_is_told_with_file_and_line(
    desk: Desk, command: str, change: Callable[[str], str], says: str
) -> None:
    path = desk.made().row.tasks_path
    path.write_text(change(path.read_text()))
    done = touchline(*command.split(), **desk.env)
    assert done.returncode == 2, command
    assert says in done.stderr, command
    place = done.stderr.partition(f"{path}:")[2]
    assert place.partition(":")[0].isdecimal(), done.stderr


def test_what_is_wrong_in_a_spec_is_told_with_file_and_line(desk: Desk) -> None:
    path = desk.made().row.path
    text = path.read_text().replace("- priority: must", "- priority: urgent", 1)
    path.write_text(text)
    done = touchline("spec", "show", **desk.env)
    line = text.splitlines().index("- priority: urgent") + 1
    assert done.returncode == 2
    assert f"{path}:{line}: the priority 'urgent' is not known" in done.stderr


def test_what_is_not_ready_is_refused_with_the_reasons(desk: Desk) -> None:
    path = desk.made().row.path
    path.write_text(path.read_text().replace("- A note survives a restart.", ""))
    done = touchline("spec", "approve", "--yes", **desk.env)
    assert done.returncode == 2
    assert "Success Criteria: There are none" in done.stderr
    assert desk.said("spec", "show")["ready"] is False


@pytest.mark.parametrize(
    ("brief", "says"), [("\n \n", "brief.md:1: the brief is empty"), (None, "there is no such file or folder")]
)
def test_a_brief_that_cannot_be_used_needs_no_model(desk: Desk, brief: str | None, says: str) -> None:
    (desk.folder / "brief.md").unlink()
    if brief is not None:
        (desk.folder / "brief.md").write_text(brief)
    done = touchline("spec", "new", desk.folder / "brief.md", "--repository", desk.repo, **desk.env)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_without_a_model_the_line_to_add_is_said(desk: Desk) -> None:
    done = touchline("spec", "new", desk.folder / "brief.md", "--repository", desk.repo, **desk.env)
    assert done.returncode == 2
    assert "No model is configured" in done.stderr
    assert "TOUCHLINE_MODEL=cli:claude" in done.stderr


def test_edit_prints_the_paths_where_nobody_sits_and_checks_them(desk: Desk) -> None:
    row = desk.made().row
    done = touchline("spec", "edit", **desk.env)
    assert (done.returncode, done.stdout.split()) == (0, [str(row.path), str(row.tasks_path)])
    row.tasks_path.write_text("# Tasks\n")
    broken = touchline("spec", "edit", **desk.env)
    assert broken.returncode == 2
    assert "there is no task in it" in broken.stderr


def test_edit_opens_the_editor_on_a_terminal_and_reads_what_it_left(desk: Desk) -> None:
    row = desk.made().row
    editor = desk.folder / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('one file', 'two files'))\n"
    )
    main, side = pty.openpty()
    env = environment(**desk.env, EDITOR=f"{sys.executable} {editor}", TERM="dumb", CI="")
    command = [sys.executable, "-m", "touchline", "spec", "edit", row.id]
    process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=env)
    os.close(side)
    assert process.wait(60) == 0
    os.close(main)
    assert desk.said("spec", "show")["objective"] == "People keep notes in two files."


def test_there_is_no_specification_yet(desk: Desk) -> None:
    assert touchline("db", "upgrade", **desk.env).returncode == 0
    done = touchline("spec", "show", **desk.env)
    assert done.returncode == 2
    assert "touchline spec new" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [(("spec", "approve"), 2, b"Nobody is there to be asked"), (("spec", "edit"), 0, b"tasks.md")],
)
def test_a_ci_that_lends_a_terminal_is_neither_asked_nor_given_an_editor(
    desk: Desk, arguments: tuple[str, ...], code: int, says: bytes
) -> None:
    desk.made()
    main, side = pty.openpty()
    env = environment(**desk.env, EDITOR="sleep 60 #", TERM="dumb", CI="true")
    process = subprocess.Popen(
        [sys.executable, "-m", "touchline", *arguments], stdin=side, stdout=side, stderr=side, env=env
    )
    os.close(side)
    assert process.wait(30) == code
    assert says in os.read(main, 4096)
    os.close(main)
