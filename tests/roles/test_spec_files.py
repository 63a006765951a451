"""spec.md and tasks.md: written, read back, edited by hand, and refused with file and line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import SpecError
from touchline.roles.specification.checking import check_spec
from touchline.roles.specification.spec import PlannedFile, Requirement, Spec
from touchline.roles.specification.spec_file import read_spec, with_head, write_spec
from touchline.roles.specification.task import Task, TaskAction, TaskCheck
from touchline.roles.specification.tasks_file import TasksFile, read_tasks, with_line, with_status, write_tasks
from touchline.roles.specification.writing import write_whole

TASKS = TasksFile(
    title="Notes: tasks",
    head={"spec": "spec-1", "version": 2},
    tasks=(
        Task(
            id="T-001",
            phase="types",
            action=TaskAction.CREATE,
            file="notes/model.py",
            title="The note itself",
            requirements=("a note has a text: not empty", "- looks like a list"),
            gotchas=("do not use `eval`",),
            check=TaskCheck(command="pytest -q tests/test_model.py", expected="passed"),
            code_template="class Note:\n    text: str\n",
            satisfies=("FR-001",),
        ),
        Task(
            id="T-002",
            phase="tests",
            action=TaskAction.VERIFY,
            file="",
            depends_on=("T-001",),
            check=TaskCheck(command="pytest -q"),
            critical=True,
            priority=3,
        ),
    ),
)
SPEC = Spec(
    id="spec-1",
    title="Notes",
    version=2,
    status="waiting",
    idea="idea-1",
    context=("README.md", "planning/brief.md"),
    objective="People keep notes.\n\n```\n## not a heading\n```",
    success_criteria=("a note survives a restart",),
    out_of_scope=("sharing",),
    requirements=(
        Requirement(id="FR-001", text="Keep a note", acceptance="it is there again", source="planning/brief.md"),
        Requirement(id="FR-002", text="Delete a note", priority="could", acceptance="it is gone"),
    ),
    quality=("starts in a second",),
    new_files=(PlannedFile(path="notes/model.py", purpose="the note"),),
    modified_files=(PlannedFile(path="README.md", purpose="how to use it", owner="docs"),),
    avoided_files=(PlannedFile(path="setup.py", purpose="generated"),),
    api="None.",
    data_models="Note(text)",
    dependencies=("none",),
    gotchas=("SQLite needs a file",),
    validation="Run the tests.",
    risks=("none known",),
)


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


class TestTasks:
    def test_what_is_written_is_read_back(self) -> None:
        text = write_tasks(TASKS)
        found = read_tasks(text)
        assert [replace(task, line=0) for task in found.tasks] == list(TASKS.tasks)
        assert found.head == TASKS.head
        assert found.title == TASKS.title
        assert text.splitlines()[found.tasks[0].line - 1] == "id: T-001"

    @given(st.text(min_size=1, max_size=60).filter(lambda t: t.strip() and "\r" not in t and t.isprintable()))
    def test_any_words_survive(self, words: str) -> None:
        one = replace(TASKS.tasks[0], requirements=(words,), title=words.strip())
        found = read_tasks(write_tasks(replace(TASKS, tasks=(one,))))
        assert found.tasks[0].requirements == (words,)
        assert found.tasks[0].title == words.strip()

    def test_a_status_changes_one_line_and_its_box(self) -> None:
        before = write_tasks(TASKS).replace("title: The note itself", "title: The note itself  # mine\n# keep me")
        after = with_status(before, "T-001", "complete")
        changed = [(a, b) for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
        assert changed == [
            ("status: pending", "status: complete"),
            ("- [ ] T-001: The note itself", "- [x] T-001: The note itself"),
        ]
        assert with_status(after, "T-001", "pending") == before

    def test_a_missing_status_is_put_in(self) -> None:
        before = write_tasks(TASKS).replace("status: pending\nreq", "req")
        assert read_tasks(with_status(before, "T-001", "failed")).tasks[0].status == "failed"

    @pytest.mark.parametrize("empty", ["status:", "status: ", "status: # to be done", "status :", "'status': pending"])
    def test_an_empty_status_is_filled_in_and_nothing_else_is_touched(self, empty: str) -> None:
        before = write_tasks(TASKS).replace("status: pending", empty, 1)
        found = read_tasks(with_status(before, "T-001", "failed"))
        assert [replace(task, line=0) for task in found.tasks] == [
            replace(TASKS.tasks[0], status="failed"),
            TASKS.tasks[1],
        ]

    def test_a_block_that_is_written_otherwise_is_read_too(self) -> None:
        head, _, rest = write_tasks(TASKS).partition("```yaml\n")
        block, _, rest = rest.partition("```")
        moved = f"{head}```yaml\n{''.join(f'    {line}' for line in block.splitlines(keepends=True))}```{rest}"
        assert read_tasks(with_status(moved, "T-001", "failed")).tasks[0].status == "failed"
        flow = f"{head}```yaml\n{{id: T-001, phase: types, action: CREATE, file: a.py}}\n```{rest}"
        assert len(read_tasks(flow).tasks) == 2
        with pytest.raises(SpecError, match=r"tasks\.md:\d+: T-001: its status cannot be written"):
            with_status(flow, "T-001", "failed")

    def test_a_box_is_ticked_for_its_own_task_alone(self) -> None:
        two = tuple(replace(TASKS.tasks[0], id=id, title="One") for id in ("T-1", "T-1-b", "T-1.2"))
        text = with_status(write_tasks(replace(TASKS, tasks=two)), "T-1", "complete")
        assert [line[:14] for line in text.splitlines() if line.startswith("- [")] == [
            "- [x] T-1: One",
            "- [ ] T-1-b: O",
            "- [ ] T-1.2: O",
        ]

    def test_a_block_of_something_else_is_no_task(self) -> None:
        text = write_tasks(TASKS) + "\n```yaml\nservices:\n  web: {image: nginx}\n```\n"
        assert len(read_tasks(text).tasks) == 2

    def test_lines_are_added_to_sections(self) -> None:
        text = write_tasks(TASKS)
        for line in ("one", "two"):
            text = with_line(text, "Execution log", line)
        assert "## Execution log\n\n- one\n- two\n\n## Discoveries" in text
        assert with_line(text, "New one", "x").endswith("\n\n## New one\n\n- x\n")
        assert len(read_tasks(text).tasks) == 2

    @pytest.mark.parametrize(
        ("change", "at", "says"),
        [
            (("action: CREATE", "action: INVENT"), "id: T-001", "the action 'INVENT' is not known"),
            (("file: notes/model.py", "file: ../../etc/passwd"), "id: T-001", "not inside the repository"),
            (("file: notes/model.py", "file: ''"), "id: T-001", "the field 'file' is missing"),
            (("phase: types", "phase: ''"), "id: T-001", "the field 'phase' is missing"),
            (("status: pending", "status: perhaps"), "id: T-001", "the status 'perhaps' is not known"),
            (("gotchas:", "gotcha:"), "id: T-001", "Did you mean 'gotchas'"),
            (("  - T-001", "  - T-404"), "id: T-002", "T-002 depends on 'T-404', which is no task"),
            (("depends_on: []", "depends_on: [T-002]"), "id: T-001", "wait for each other: T-001 -> T-002 -> T-001"),
            (("requirements:\n", "requirements: [\n"), "  - 'a note", "this is not YAML"),
            (("id: T-001", "ident: T-001"), "ident: T-001", "'ident' is no field of a task"),
            (("id: T-001\n", ""), "title: The note itself", "the field 'id' is missing"),
            (("id: T-001", "id T-001"), "title: The note itself", "this is not YAML"),
            (("id: T-001", "id: ../../../T-001"), "id: ../../../T-001", "this id cannot be used"),
            (("id: T-001", "id: /etc/T-001"), "id: /etc/T-001", "this id cannot be used"),
            (("file: notes/model.py", "file: ./"), "id: T-001", "the field 'file' is missing"),
            (("priority: 3", "priority: high"), "id: T-002", "the priority 'high' is no whole number"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, change: tuple[str, str], at: str, says: str) -> None:
        text = write_tasks(TASKS).replace(*change)
        with pytest.raises(SpecError) as caught:
            read_tasks(text, file="build/tasks.md")
        where, _, _ = str(caught.value).partition(": ")
        assert says in str(caught.value)
        assert where == f"build/tasks.md:{line_of(text, at)}"

    def test_an_open_fence_an_open_head_and_no_task(self) -> None:
        text = write_tasks(TASKS)
        with pytest.raises(SpecError, match=r"tasks\.md:\d+: this block is not closed"):
            read_tasks(text.rpartition("```")[0])
        with pytest.raises(SpecError, match=r"tasks\.md:1: the front matter is not closed"):
            read_tasks("---\nspec: x\n")
        with pytest.raises(SpecError, match=r"tasks\.md:1: there is no task"):
            read_tasks("# Empty\n")

    def test_a_renamed_task_is_missed(self) -> None:
        with pytest.raises(SpecError, match="no task 'T-404'"):
            with_status(write_tasks(TASKS), "T-404", "complete")


class TestSpec:
    def test_what_is_written_is_read_back(self) -> None:
        found = read_spec(write_spec(SPEC))
        assert replace(found, requirements=()) == replace(SPEC, requirements=())
        assert [replace(r, line=0) for r in found.requirements] == list(SPEC.requirements)

    def test_hand_written_sections_and_head_lines_survive_a_revision(self) -> None:
        text = write_spec(SPEC).replace("version: 2", "version: 2\nreviewer: Ada")
        text = text.replace("## Risks", "## My thoughts\n\nkeep *this*\n\n## Risks")
        changed = replace(read_spec(text), objective="Another one.", version=3)
        again = write_spec(changed, before=text)
        assert "keep *this*" in again
        assert again.index("## Validation strategy") < again.index("## My thoughts") < again.index("## Risks")
        assert "reviewer: Ada" in again
        assert read_spec(again).objective == "Another one."
        assert read_spec(again).version == 3

    def test_a_revision_is_approved_by_nobody(self) -> None:
        text = with_head(write_spec(SPEC), status="approved", approved_by="Ada")
        assert "approved_by: Ada" in write_spec(replace(SPEC, status="approved"), before=text)
        assert "Ada" not in write_spec(replace(SPEC, status="waiting"), before=text)

    def test_the_head_changes_alone(self) -> None:
        text = write_spec(SPEC) + "\ntrailing   spaces   \n"
        changed = with_head(text, status="approved")
        assert changed.split("---\n", 2)[2] == text.split("---\n", 2)[2]
        assert read_spec(changed).status == "approved"

    @pytest.mark.parametrize(
        ("change", "at", "says"),
        [
            (("- priority: could", "- priority: maybe"), "maybe", "the priority 'maybe' is not known"),
            (("- acceptance: it is gone", "- acceptence: it"), "acceptence", "Did you mean 'acceptance'"),
            (("### FR-002: Delete", "### Delete"), "### Delete", "is no requirement"),
            (("- `notes/model.py`", "- notes/model.py"), "- notes/model.py", "names no file"),
            (("- `notes/model.py`", "- `../model.py`"), "../model.py", "not inside the repository"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, change: tuple[str, str], at: str, says: str) -> None:
        text = write_spec(SPEC).replace(*change)
        with pytest.raises(SpecError) as caught:
            read_spec(text, file="spec.md")
        assert says in str(caught.value)
        assert str(caught.value).startswith(f"spec.md:{line_of(text, at)}: ")

    def test_head_errors(self) -> None:
        for change, says in [
            (("id: spec-1", "name: x"), "no id"),
            (("status: waiting", "status: dreaming"), "the status 'dreaming' is not known"),
            (("version: 2", "version: two"), "the version 'two'"),
        ]:
            with pytest.raises(SpecError, match=says):
                read_spec(write_spec(SPEC).replace(*change))


class TestChecking:
    def test_a_good_one_has_no_error(self) -> None:
        tasks = [replace(TASKS.tasks[0], satisfies=("FR-001", "FR-002")), TASKS.tasks[1]]
        assert check_spec(SPEC, tasks) == ()

    @pytest.mark.parametrize(
        ("spec", "task", "where", "says"),
        [
            ({"objective": " "}, {}, "Objective", "empty"),
            ({"success_criteria": ()}, {}, "Success Criteria", "There are none"),
            ({"requirements": ()}, {"satisfies": ()}, "Functional requirements", "There are none"),
            ({}, {"satisfies": ("FR-002",)}, "FR-001", "No task fulfils it"),
            ({}, {"satisfies": ("FR-001", "FR-9")}, "T-001", "FR-9, which is no requirement"),
            ({}, {"check": TaskCheck()}, "T-001", "no check"),
            ({}, {"requirements": ()}, "T-001", "what is required"),
            ({}, {"file": "setup.py"}, "T-001", "keeps away from"),
        ],
    )
    def test_each_gap_is_an_error(
        self, spec: dict[str, object], task: dict[str, object], where: str, says: str
    ) -> None:
        found = check_spec(replace(SPEC, **spec), [replace(TASKS.tasks[0], **task), TASKS.tasks[1]])  # type: ignore[arg-type]
        assert any(f.grade == "error" and f.where == where and says in f.text for f in found), found

    def test_what_could_wait_is_a_warning(self) -> None:
        found = check_spec(SPEC, [replace(TASKS.tasks[0], file="notes/other.py"), TASKS.tasks[1]])
        assert {(f.grade, f.where) for f in found} == {
            ("warning", "FR-002"),
            ("warning", "T-001"),
            ("warning", "notes/model.py"),
        }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_keeps_its_line_ends_when_a_status_is_written_into_it(tmp_path: Path, end: str) -> None:
    path = tmp_path / "tasks.md"
    path.write_text(write_tasks(TASKS), newline=end)
    write_whole(path, with_status(path.read_text(), "T-001", "complete"))
    written = path.read_bytes()
    assert b"status: complete" in written
    assert written.count(b"\n") == written.count(end.encode())
    assert read_tasks(path.read_text()).tasks[0].status == "complete"
