"""What else may befall a build: an attempt that is given up, a missing package, a workflow that is gone, a price."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.roles.yard import DONE, Yard, asked_with, code_turns, opened, sh, task, waits_for, writes

from touchline.errors import BuildError
from touchline.questions.answering import answer_question
from touchline.questions.asking import open_questions
from touchline.roles.build.controlling import resume_build
from touchline.roles.build.installing import install_command
from touchline.roles.build.overview import overview_of
from touchline.roles.build.reconciling import reconcile_builds
from touchline.sessions.records import session_record
from touchline.sessions.room import current_room
from touchline.store.database import Database
from touchline.store.tables import turns, usage

pytestmark = pytest.mark.timeout(240)
GIVEN_UP = """
- question: review_plan
  answer: {verdict: approved, guidance: "Fine."}
- question: review_code
  answer: {verdict: approved, guidance: "Fine."}
- question: review_budget
  when: [nowhere.txt]
  answer: {verdict: abandon, guidance: "nowhere.txt does not exist. Write the file from the requirements alone."}
- question: review_budget
  answer: {verdict: needs_changes, guidance: "Everything is here already; git fetch cannot work. Hand in the plan."}
"""


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with opened(tmp_path_factory.mktemp("yard")) as made:
        made.builds = {name: make(made) for name, make in MAKERS.items()}  # type: ignore[attr-defined]
        yield made


def id_of(yard: Yard, name: str) -> str:
    return str(yard.builds[name])  # type: ignore[attr-defined]


def start_given_up(yard: Yard) -> str:
    loops = '{calls: [{shell: "cat nowhere.txt"}], until: NEVER SAID}'
    script = asked_with("An earlier attempt at this task was given up", "T-001", *writes("given_up.py"))
    script += code_turns("T-001", loops)
    return yard.start((task("T-001", "given_up.py"),), script, plan=False, judge=yard.answers(GIVEN_UP))


def test_the_lesson_of_an_abandoned_attempt_is_in_the_task_before_it_is_queued_again(yard: Yard) -> None:
    build = yard.end(id_of(yard, "given_up"))
    row = yard.tasks(build.id)["T-001"]
    assert (build.status, row.attempts) == ("complete", 2), build.detail
    assert "Write the file from the requirements alone." in row.lesson
    assert [event.payload["reason"] for event in yard.events(build.id, "task.retry")] == ["abandoned"]
    moves = [(e.payload["before"], e.payload["after"]) for e in yard.events(build.id, "task.state")]
    assert ("coding", "budget_review") in moves
    assert ("budget_review", "coding") in moves
    with yard.database.reading() as connection:
        second = session_record(connection, row.sessions[1])
    assert "Write the file from the requirements alone." in second.asked.task, "and the next agent is told"


def start_fetching(yard: Yard) -> str:
    """The seed's own scenario: a planner that fetches in a read-only workspace."""
    script = (
        "  - name: plan-T-001\n    when: '/You plan one task[\\s\\S]*Task T-001:/'\n"
        '    find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}\n    turns:\n'
        '      - {calls: [{shell: git fetch origin}], until: "Review: needs_changes"}\n'
        '      - {text: "The plan: write fetching.py and run its check.\\n${marker}"}\n'
    )
    script += code_turns("T-001", *writes("fetching.py"))
    return yard.start((task("T-001", "fetching.py"),), script, judge=yard.answers(GIVEN_UP))


def test_a_planner_that_fetches_is_reminded_reviewed_and_comes_back(yard: Yard) -> None:
    build = yard.end(id_of(yard, "fetching"))
    row = yard.tasks(build.id)["T-001"]
    assert (build.status, row.attempts) == ("complete", 1), build.detail
    planning = row.data["sessions"]["planning"][0]
    events = [e for e in yard.events_of_session(planning) if e.type in ("agent.called", "reminder.sent")]
    assert [e.type for e in events[:2]] == ["agent.called", "reminder.sent"], "right after the first failing call"
    assert events[1].payload["text"].startswith("You are PLANNING")
    moves = [e.payload["after"] for e in yard.events(build.id, "task.state")]
    assert moves[:4] == ["planning", "budget_review", "planning", "plan_review"]
    (request,) = (yard.folder / "sessions" / planning).glob("review-*.md")
    words = request.read_text()
    assert "ALERT" in words
    assert "git fetch origin" in words
    assert len([e for e in events if e.type == "agent.called"]) < 12, "no 141 reviews in silence"


def test_what_the_build_and_its_supervision_cost_is_shown(yard: Yard) -> None:
    build = yard.end(id_of(yard, "fetching"))
    with yard.database.reading() as connection:
        seen = overview_of(connection, build.id)
        paid = connection.execute(sa.select(usage.c.purpose).where(usage.c.build_id == build.id)).scalars().all()
    assert seen.work.tokens > 0
    assert seen.work.usd > 0
    assert seen.tasks[0].work == seen.work
    assert 0 < seen.supervision.tokens < seen.work.tokens
    assert {"supervision:review_plan", "supervision:review_code"} <= set(paid)
    assert seen.tasks[0].supervision == seen.supervision, "reviews of budget, plan and change belong to their task"
    assert not seen.work.estimated
    with yard.database.writing() as connection:
        # As the row of a turn is whose agent told its tokens alone (`test_limits` makes such a turn).
        connection.execute(sa.update(turns).values(usage={"m": {"input": 1, "estimated_usd": 0.01}}))
        assert overview_of(connection, build.id).tasks[0].work.estimated


def start_package(yard: Yard) -> str:
    wheels = yard.meeting()
    with zipfile.ZipFile(wheels / "tinypack-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tinypack.py", "x = 1\n")
        wheel.writestr("tinypack-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinypack\nVersion: 1.0\n")
        wheel.writestr("tinypack-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tinypack-1.0.dist-info/RECORD", "")
    settings = yard.folder / "home" / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    # The agent has what it needs where it works; a fresh clone has not.
    check = "test -f __pycache__/seen || python3 -c 'import tinypack'"
    turns = (sh("mkdir -p __pycache__ && touch __pycache__/seen && echo 1 > package.py"), sh(check), DONE)
    return yard.start(
        (task("T-001", "package.py", check=check),), code_turns("T-001", *turns), plan=False, may_install=True
    )


def test_a_missing_package_is_installed_in_the_tasks_clone_when_that_is_allowed(yard: Yard) -> None:
    build = yard.end(id_of(yard, "package"))
    assert build.status == "complete", build.detail
    assert list((yard.folder / "builds" / build.id / "outputs").glob("*-install.log"))
    files = yard.git("ls-tree", "-r", "--name-only", "build", at=Path(build.workshop))
    assert "touchline-packages" not in files


def start_package_refused(yard: Yard) -> str:
    check = "test -f __pycache__/seen || python3 -c 'import tinypack'"
    turns = (sh("mkdir -p __pycache__ && touch __pycache__/seen && echo 1 > refused.py"), sh(check), DONE)
    return yard.start((task("T-001", "refused.py", check=check),), code_turns("T-001", *turns), plan=False)


def test_without_that_permission_a_person_is_asked(yard: Yard) -> None:
    build = yard.end(id_of(yard, "package_refused"))
    assert (build.status, build.reason) == ("stopped", "escalated")
    with yard.database.reading() as connection:
        (question,) = [each for each in open_questions(connection) if each.build_id == build.id]
    assert "tinypack is missing, and installing is not allowed" in question.text
    answer_question(yard.engine, yard.database, question.id, option=2, person="Ann")
    yard.until(lambda: yard.build(build.id).reason == "tasks_open", "it ends without the task")
    assert yard.tasks(build.id)["T-001"].task.status == "skipped"


def test_the_command_that_installs_fits_the_repository() -> None:
    assert install_command(["package.json"], "@types/node") == "npm install --no-audit --no-fund @types/node"
    assert install_command(["go.mod"], "golang.org/x/text") == "go get golang.org/x/text"
    assert install_command([], "requests").endswith("--target .touchline-packages requests")
    assert install_command([], "x; rm -rf ~") == "", "the name comes from a program's output"


def start_lost_task(yard: Yard) -> str:
    here = yard.meeting()
    script = code_turns("T-001", sh(f"touch {here}/begun"), waits_for(here / "never"), *writes("lost_a.py"))
    yard.lost = here  # type: ignore[attr-defined]
    return yard.start((task("T-001", "lost_a.py"),), script, plan=False)


def test_a_task_whose_workflow_is_gone_is_not_waited_for(yard: Yard) -> None:
    id = id_of(yard, "lost_task")
    here: Path = yard.lost  # type: ignore[attr-defined]
    yard.until((here / "begun").exists, "the agent works")
    yard.engine.cancel(yard.tasks(id)["T-001"].job)
    build = yard.end(id)
    assert build.reason == "escalated"
    assert yard.tasks(id)["T-001"].reason == "lost"


def start_lost_build(yard: Yard) -> str:
    here = yard.meeting()
    script = code_turns("T-001", sh(f"touch {here}/begun"), waits_for(here / "go"), *writes("lost_b.py"))
    yard.lost_build = here  # type: ignore[attr-defined]
    return yard.start((task("T-001", "lost_b.py"),), script, plan=False)


def test_a_build_that_is_running_in_name_only_is_found_and_can_go_on(yard: Yard) -> None:
    id = id_of(yard, "lost_build")
    here: Path = yard.lost_build  # type: ignore[attr-defined]
    yard.until((here / "begun").exists, "the agent works")
    yard.engine.cancel(yard.build(id).job)
    found = reconcile_builds(yard.engine, current_room())
    assert found.failed == (id,)
    assert (yard.build(id).status, yard.build(id).reason) == ("failed", "lost")
    assert yard.tasks(id)["T-001"].task.status == "pending"
    (here / "go").touch()
    resume_build(yard.engine, yard.database, id)
    yard.until(lambda: yard.build(id).status == "complete", "it goes on")


def test_a_database_that_cannot_be_read_is_not_taken_for_no_work(yard: Yard) -> None:
    from dataclasses import replace

    path = yard.folder / "broken.db"
    with Database(f"sqlite:///{path}") as broken:
        path.write_bytes(b"no database at all" * 100)
        with pytest.raises(Exception, match="database"):
            reconcile_builds(yard.engine, replace(current_room(), database=broken))


def test_one_specification_is_not_built_twice_at_a_time(yard: Yard) -> None:
    from touchline.roles.build.controlling import start_build
    from touchline.roles.specification.keeping import find_spec

    here = yard.meeting()
    id = yard.start((task("T-001", "once.py"),), code_turns("T-001", waits_for(here / "go"), *writes("once.py")))
    with yard.database.reading() as connection:
        spec = find_spec(connection, yard.build(id).spec_id or "")
    with pytest.raises(BuildError, match="of this specification is"):
        start_build(yard.engine, yard.database, spec, repository=yard.repo, settings=yard.build(id).settings)
    from touchline.roles.build.controlling import want

    want(yard.database, id, "stop")
    assert yard.end(id).reason == "stop_requested"


MAKERS = {name.removeprefix("start_"): made for name, made in list(globals().items()) if name.startswith("start_")}
