"""From a brief to spec.md and tasks.md: numbers, owners, pitfalls and order are ours, and people's edits survive."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.roles.briefs import REQUIREMENTS, TASKS, answers_at, repository_at

from touchline.coordination.leases import file_resource
from touchline.coordination.ownership import own
from touchline.errors import ModelError, SpecError, StatusError
from touchline.models.opening import asker_for
from touchline.roles.specification.keeping import approve, ask_revision, find_spec, next_number, read_files
from touchline.roles.specification.making import Made, make_spec, revise_spec, slug
from touchline.roles.specification.tasks_file import with_line, with_status
from touchline.store.database import Database
from touchline.store.events import read
from touchline.store.statuses import create, move
from touchline.store.tables import usage


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return repository_at(tmp_path / "repo")


@pytest.fixture
def brief(tmp_path: Path) -> Path:
    path = tmp_path / "brief.md"
    path.write_text("People lose notes. Keep them in one file.")
    return path


@pytest.fixture
def made(database: Database, repository: Path, brief: Path, tmp_path: Path) -> Made:
    return make_spec(database, asker_for(answers_at(tmp_path / "a.yaml")), brief, repository=repository)


def test_what_is_written_can_be_read_back(database: Database, made: Made, repository: Path) -> None:
    assert made.row.path == repository / "specs/small-notes/spec.md"
    spec, tasks = read_files(made.row)
    assert [r.id for r in spec.requirements] == ["FR-001", "FR-002"]
    assert [r.source for r in spec.requirements] == ["brief.md", "research/market.md"]
    assert [task.id for task in tasks] == ["T-001", "T-002"], "what others wait for comes first"
    assert [f.path for f in spec.new_files] == ["notes.py", "db/migrations/0008_notes.sql"]
    assert tasks[0].file == "db/migrations/0008_notes.sql", "the task follows the file's new number"
    assert tasks[0].gotchas == ("Name every constraint.",)
    assert tasks[1].gotchas == ()
    assert made.row.status == "waiting"
    with database.reading() as connection:
        told = [event for event in read(connection, limit=100) if event.type == "spec.generated"]
        paid = connection.execute(sa.select(usage.c.purpose).order_by(usage.c.purpose)).scalars().all()
    assert told[0].payload["tasks"] == 2
    assert paid == ["supervision:plan_tasks", "supervision:write_requirements"]


def test_what_a_draft_cost_is_booked_also_when_nothing_came_of_it(
    database: Database, repository: Path, brief: Path, tmp_path: Path
) -> None:
    line = answers_at(tmp_path / "a.yaml", tasks=[])  # a plan without a task is refused, three times
    with pytest.raises(ModelError, match="There is no task"):
        make_spec(database, asker_for(line), brief, repository=repository)
    with database.reading() as connection:
        paid = connection.execute(sa.select(usage.c.purpose, usage.c.output).order_by(usage.c.purpose)).all()
    assert [tuple(row) for row in paid] == [("supervision:plan_tasks", 150), ("supervision:write_requirements", 50)]


def test_what_is_being_built_is_not_written_anew(
    database: Database, made: Made, repository: Path, tmp_path: Path
) -> None:
    asker = asker_for(answers_at(tmp_path / "b.yaml"))
    before = made.row.tasks_path.read_text()
    with database.writing() as connection:
        build = create(connection, "builds", id="build_1", spec_id=made.row.id, repository="r")
    with pytest.raises(SpecError, match="the build build_1 of it is requested"):
        revise_spec(database, asker, made.row, "less", repository=repository, by="Ann")
    assert (asker.paid, made.row.tasks_path.read_text()) == ([], before), "nobody was asked, nothing was written"
    with database.writing() as connection:
        move(connection, "builds", build, "stopped")
    assert revise_spec(database, asker, made.row, "less", repository=repository, by="Ann").row.version == 2


def test_a_file_that_has_an_owner_says_whose_it_is(
    database: Database, repository: Path, brief: Path, tmp_path: Path
) -> None:
    with database.writing() as connection:
        own(connection, file_resource("app.py", repository), "build_7")
    made = make_spec(database, asker_for(answers_at(tmp_path / "a.yaml")), brief, repository=repository)
    spec, _ = read_files(made.row)
    assert [(f.path, f.owner) for f in spec.modified_files] == [("app.py", "build_7")]


def test_two_specifications_at_once_get_two_numbers(
    database: Database, repository: Path, brief: Path, tmp_path: Path
) -> None:
    line = answers_at(tmp_path / "a.yaml")

    def one(_: int) -> Made:
        return make_spec(database, asker_for(line), brief, repository=repository)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(4)))
    numbers = sorted(f.path for m in found for f in m.draft.spec.new_files if "migrations" in f.path)
    assert numbers == [f"db/migrations/{n:04d}_notes.sql" for n in (8, 9, 10, 11)]
    assert len({m.row.path for m in found}) == 4, "and each a folder of its own"
    with database.writing() as connection:
        assert next_number(connection, repository, "db/migrations", 20) == 20
        assert next_number(connection, tmp_path, "db/migrations", 1) == 1, "another repository counts for itself"


def test_a_revision_keeps_what_people_wrote(database: Database, made: Made, repository: Path, tmp_path: Path) -> None:
    row = made.row
    text = row.path.read_text()
    text = text.replace("## Known gotchas\n", "## Known gotchas\n\n- Mind leap years.")
    text = text.replace("## Context\n", "## Context\n\n- A talk with Ann")
    row.path.write_text(text + "\n## Our own notes\n\nAsk Ann about colours.\n")
    tasks = with_status(row.tasks_path.read_text(), "T-001", "complete")
    tasks = with_line(tasks, "Execution log", "T-001 took two tries")
    tasks = tasks.replace("file: notes.py\n", "file: notes.py\ncritical: true\npriority: 7\ngotchas: [never tabs]\n")
    row.tasks_path.write_text(tasks + "\n## By hand\n\nMind the gap.\n")
    other = {**REQUIREMENTS, "objective": "People keep notes without a database."}
    other["new_files"] = [
        {"path": "notes.py", "purpose": "keeps notes"},
        {"path": "db/migrations/0008_notes.sql", "purpose": "the table"},
    ]
    again = [{**TASKS[0]}, {**TASKS[1], "file": "db/migrations/0008_notes.sql"}]
    line = answers_at(
        tmp_path / "b.yaml",
        {
            "question": "write_requirements",
            "when": ["no colours", "Ask Ann about colours.", "People lose notes."],  # the brief's own words, too
            "answer": other,
        },
        {"question": "plan_tasks", "when": ["no colours", "Mind the gap."], "answer": {"tasks": again}},
    )
    revised = revise_spec(database, asker_for(line), row, "no colours", repository=repository, by="ann")
    spec, tasks_now = read_files(revised.row)
    assert spec.objective == "People keep notes without a database."
    assert (spec.version, revised.row.version, revised.row.status) == (2, 2, "waiting")
    assert "## Our own notes\n\nAsk Ann about colours." in row.path.read_text()
    kept = row.tasks_path.read_text()
    assert "- T-001 took two tries" in kept
    assert "## By hand\n\nMind the gap." in kept
    assert [task.status for task in tasks_now] == ["complete", "pending"]
    assert [f.path for f in spec.new_files] == ["notes.py", "db/migrations/0008_notes.sql"], "it keeps its number"
    assert "- [x] T-001" in kept
    second = next(task for task in tasks_now if task.id == "T-002")
    assert (second.critical, second.priority, second.gotchas) == (True, 7, ("never tabs",))
    assert "Mind leap years." in spec.gotchas
    assert "Name every constraint." in spec.gotchas
    assert spec.context == ("A talk with Ann", "brief.md", "AGENTS.md")
    assert spec.requirements[1].source == "research/market.md"
    with database.reading() as connection:
        asked = [event for event in read(connection, limit=100) if event.type == "spec.revision_requested"]
    assert asked[0].payload == {"by": "ann", "text": "no colours"}


def test_a_revision_without_its_brief_still_names_what_it_rests_on(
    database: Database, made: Made, repository: Path, brief: Path, tmp_path: Path
) -> None:
    brief.unlink()
    asker = asker_for(answers_at(tmp_path / "b.yaml"))
    revised = revise_spec(database, asker, made.row, "no colours", repository=repository, by="ann")
    spec, _ = read_files(revised.row)
    assert spec.context == ("brief.md", "AGENTS.md")
    assert spec.source == made.draft.spec.source


def test_a_revision_needs_words(database: Database, made: Made) -> None:
    with pytest.raises(SpecError, match="say what to change"), database.writing() as connection:
        ask_revision(connection, made.row, " ", by="ann")


def test_approval_is_by_the_files_as_they_stand(database: Database, made: Made) -> None:
    row = made.row
    good = row.tasks_path.read_text()
    row.tasks_path.write_text(good.replace("command: python3 -c 'import notes'", "command: ''"))
    with pytest.raises(SpecError, match="T-002: It has no check") as caught, database.writing() as connection:
        approve(connection, row, by="ann")
    assert "spec revise" in caught.value.hint
    with database.reading() as connection:
        assert find_spec(connection, row.id).status == "waiting"
    row.tasks_path.write_text(good)
    with database.writing() as connection:
        findings = approve(connection, row, by="ann")
    assert [f.where for f in findings] == ["FR-002"], "a wish without a task is only a warning"
    with database.reading() as connection:
        now = find_spec(connection, str(row.path.parent))
        events = [event.payload for event in read(connection, limit=100) if event.type == "spec.approved"]
    assert (now.status, now.approved_by, events) == ("approved", "ann", [{"by": "ann"}])
    assert read_files(now)[0].status == "approved"
    with pytest.raises(StatusError), database.writing() as connection:
        approve(connection, now, by="eve")


def test_a_folder_that_has_a_specification_is_not_overwritten(
    database: Database, made: Made, repository: Path, brief: Path, tmp_path: Path
) -> None:
    before = made.row.path.read_text()
    with pytest.raises(SpecError, match="there is a specification already"):
        make_spec(
            database,
            asker_for(answers_at(tmp_path / "a.yaml")),
            brief,
            repository=repository,
            folder=made.row.path.parent,
        )
    assert made.row.path.read_text() == before


def test_a_path_out_of_the_repository_is_refused(
    database: Database, repository: Path, brief: Path, tmp_path: Path
) -> None:
    tasks = [{**TASKS[1], "file": "../elsewhere.py"}]
    with pytest.raises(Exception, match="not inside the repository"):
        make_spec(database, asker_for(answers_at(tmp_path / "a.yaml", tasks=tasks)), brief, repository=repository)
    assert not (repository / "specs").exists(), "nothing half-way stays"


def test_slugs() -> None:
    assert slug("Small Notes: v2!") == "small-notes-v2"
    assert slug("日本") == "untitled"
