"""Builds by the scripted agent through the real engine: from tasks.md to commits that were checked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.roles.yard import Yard, code_turns, opened, plan_turns, task, writes

from touchline.sessions.records import list_sessions

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        yield made


def test_tasks_are_planned_built_checked_and_committed_in_order(yard: Yard) -> None:
    (yard.repo / "dirty.txt").write_text("mine\n")
    before = yard.git("status", "--porcelain"), yard.git("rev-parse", "HEAD")
    tasks = (
        task("T-001", "a.py", check="python3 -c 'import a; assert a.x == 1'"),
        task("T-002", "b.py", check="python3 -c 'import b'"),
        task("T-003", "c.py", check="python3 -c 'import c; assert c.total == 2'", needs=("T-001", "T-002")),
    )
    script = "".join(plan_turns(t.id) for t in tasks)
    script += code_turns("T-001", *writes("a.py", check="python3 -c 'import a; assert a.x == 1'"))
    script += code_turns("T-002", *writes("b.py", check="python3 -c 'import b'"))
    script += code_turns(
        "T-003",
        *writes("c.py", "import a\\nimport b\\ntotal = a.x + b.x\\n", "python3 -c 'import c; assert c.total == 2'"),
    )
    build = yard.start(tasks, script)
    row = yard.end(build)
    assert (row.status, row.reason) == ("complete", "completed"), row.detail
    rows = yard.tasks(build)
    assert {name: r.task.status for name, r in rows.items()} == dict.fromkeys(("T-001", "T-002", "T-003"), "complete")
    subjects = yard.git(
        "log", "--format=%s", "refs/touchline/base..refs/heads/build", at=_shop(row.workshop)
    ).splitlines()
    assert sorted(subjects) == ["T-001: Make a.py", "T-002: Make b.py", "T-003: Make c.py"]
    assert subjects[0] == "T-003: Make c.py"
    assert rows["T-003"].plan.startswith("The plan:")
    with yard.database.reading() as connection:
        sessions = [
            s.asked for s in list_sessions(connection, statuses=["delivered"]) if s.asked.task_id == rows["T-003"].id
        ]
    shown = {s.read_only: s.planned for s in sessions}
    assert shown == {True: "", False: rows["T-003"].plan}, "who reviews the coding's budget sees the plan"
    assert all(r.data["reviews"][0]["verdict"] == "unreviewed" for r in rows.values())
    text = yard.tasks_file(build).read_text()
    assert text.count("status: complete") == 3
    assert "- [x] T-003" in text
    assert (yard.git("status", "--porcelain"), yard.git("rev-parse", "HEAD")) == before
    assert (yard.repo / "dirty.txt").read_text() == "mine\n"
    (yard.repo / "dirty.txt").unlink()


def _shop(path: str):  # type: ignore[no-untyped-def]
    from pathlib import Path

    return Path(path)
