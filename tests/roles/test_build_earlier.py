"""A new build begins with the repository's newest commit: what only an earlier build has is not taken for done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.roles.yard import Yard, code_turns, opened, task, writes

from touchline.errors import BuildError
from touchline.roles.build.controlling import start_build
from touchline.roles.build.earlier import Finished
from touchline.roles.specification.keeping import find_spec

pytestmark = pytest.mark.timeout(120)
TASKS = (task("T-001", "one.py"), task("T-002", "two.py", needs=("T-001",)), task("T-003", "three.py"))
SCRIPT = "".join(code_turns(each.id, *writes(each.file)) for each in TASKS)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    with opened(tmp_path) as made:
        yield made


def again(yard: Yard, build: str, finished: Finished = "") -> str:
    before = yard.build(build)
    with yard.database.reading() as connection:
        spec = find_spec(connection, before.spec_id or "")
    return start_build(
        yard.engine, yard.database, spec, repository=yard.repo, settings=before.settings, finished=finished
    )


def set_open(yard: Yard, build: str, id: str) -> None:
    """What a person does to have a task done again."""
    path = yard.tasks_file(build)
    before, _, rest = path.read_text().partition(f"id: {id}\n")
    path.write_text(f"{before}id: {id}\n{rest.replace('status: complete', 'status: pending', 1)}")


def test_a_second_start_is_refused_until_the_work_is_there_or_somebody_has_said(yard: Yard) -> None:
    first = yard.start(TASKS, SCRIPT, plan=False)
    assert yard.end(first).status == "complete"
    with pytest.raises(BuildError, match=rf"{first} has finished T-001, T-002, T-003, and your branch") as refused:
        again(yard, first)
    assert f"touchline apply {first}" in refused.value.hint
    assert "resume" not in refused.value.hint, "a complete build is not gone on with"

    second = again(yard, first, "anew")
    assert yard.end(second).status == "complete"
    assert all(row.data["commit"] for row in yard.tasks(second).values())
    changed = yard.git("diff", "--name-only", "refs/touchline/base..build", at=Path(yard.build(second).workshop))
    assert sorted(changed.split()) == ["one.py", "three.py", "two.py"]
    with pytest.raises(BuildError, match="nothing to build"):
        again(yard, second, "there")

    yard.git("pull", "-q", "--squash", yard.build(second).workshop, "build")
    yard.git("commit", "-qm", "All of it, as one commit")
    with pytest.raises(BuildError, match="nothing to build"):
        again(yard, second)


def test_a_task_that_needs_finished_work_is_not_begun_without_it(yard: Yard) -> None:
    first = yard.start(TASKS, SCRIPT, plan=False)
    assert yard.end(first).status == "complete"
    set_open(yard, first, "T-002")
    with pytest.raises(BuildError, match="has finished T-001, T-003"):
        again(yard, first)
    yard.git("pull", "-q", yard.build(first).workshop, "build")
    yard.git("rm", "-q", "two.py")
    yard.git("commit", "-qm", "Without the second")
    second = again(yard, first)
    assert yard.end(second).status == "complete"
    attempts = {name: row.attempts for name, row in yard.tasks(second).items()}
    assert attempts == {"T-001": 0, "T-002": 1, "T-003": 0}, "what the branch has is not done again"
