"""A person answers, stops and resumes; each is safe to be done twice, and nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.sessions.house import House, alive

from touchline.errors import InputError, SessionError
from touchline.sessions import wanted
from touchline.sessions.asked import Asked
from touchline.sessions.records import SessionRecord, list_sessions, question_of_session, session_record
from touchline.sessions.starting import start_session
from touchline.sessions.stopping import resume_session, stop_session

pytestmark = pytest.mark.timeout(120)

ASKS = """
turns:
  - {text: Should I use the decimal module or plain floats for the sums?}
  - heard: use decimal
    calls: [{write: "${workspace}/app.py", content: "import decimal"}, {shell: python3 -m unittest -q}]
  - {text: "I used decimal in app.py. The tests pass: 1 test, OK."}
"""
LONG = """
turns:
  - {text: I begin., calls: [{shell: "echo started > begun; sleep 60"}]}
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
"""


def test_a_question_waits_without_a_slot_and_goes_on_with_its_answer(house: House) -> None:
    story = house.run(ASKS)
    session = story.session
    assert (session.status, story.actions) == ("waiting", ["ask:question"]), story.told()
    with house.database.reading() as connection:
        assert "decimal" in question_of_session(connection, session)
    assert house.engine.status(session.job).state == "done"  # type: ignore[union-attr]
    with pytest.raises(SessionError, match="waits for an answer"):
        resume_session(house.engine, house.database, session.id, "")
    resume_session(house.engine, house.database, session.id, "use decimal, please")
    story = house.rest(session.id, unlike="waiting")
    assert story.actions == ["ask:question", "deliver:completed"], story.told()
    assert story.kinds == ["first", "answer"]
    assert story.session.question_id is None
    assert len(story.of("question.answered")) == 1


def test_stopped_in_the_middle_of_a_turn_it_leaves_no_process_and_goes_on_later(house: House) -> None:
    id = start_session(house.engine, house.database, house.ask(LONG))
    begun = house.until(id, lambda s: any(e["tool"] == "Bash" for e in s.of("agent.called")))
    assert begun.session.status == "running"
    assert stop_session(house.engine, house.database, id, by="ann") == "running"
    story = house.rest(id)
    assert (story.session.status, story.session.stop_by) == ("stopped", "ann"), story.told()
    assert story.parcels == [], "a person who stops it needs no delivery"
    assert alive(house.folder) == []
    assert stop_session(house.engine, house.database, id) == "stopped"
    resume_session(house.engine, house.database, id)
    story = house.rest(id, unlike="stopped")
    assert story.session.delivery == "accepted", story.told()
    assert story.turns[1].cli_session_id == story.turns[0].cli_session_id
    assert story.kinds == ["first", "resume"]


def test_what_a_stopped_session_has_done_so_far_is_brought_home(house: House) -> None:
    id = start_session(house.engine, house.database, house.ask(LONG))
    house.until(id, lambda s: any(e["tool"] == "Bash" for e in s.of("agent.called")))
    stop_session(house.engine, house.database, id)
    session = house.rest(id).session
    assert (session.status, in_commit(session, "begun")) == ("stopped", "started")


def test_a_session_whose_clone_is_gone_goes_on_with_the_work_that_was_brought_home(house: House) -> None:
    script = """
turns:
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
  - {calls: [{shell: "cat app.py && echo 'y = 2' > more.py"}, {shell: python3 -m unittest -q}]}
  - {text: "more.py is written. The tests pass: 1 test, OK."}
"""
    first = house.run(script).session
    assert first.delivery == "accepted"
    shutil.rmtree(Path(first.workspace).parent)
    resume_session(house.engine, house.database, first.id, "and more.py, please")
    story = house.until(first.id, lambda s: len(s.parcels) == 2)
    again = house.rest(first.id).session
    assert again.delivery == "accepted", story.told()
    assert (in_commit(again, "app.py"), in_commit(again, "more.py")) == ("x = 1", "y = 2")
    assert again.base_commit == first.base_commit
    files = {each["path"] for each in again.result["changes"]["changed"]}
    assert files == {"app.py", "more.py"}, "all of it can be applied, not only the last run's"


def test_a_run_that_brings_nothing_home_leaves_what_an_earlier_one_brought(house: House) -> None:
    script = """
turns:
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -m unittest -q}]}
  - {text: "app.py is written. The tests pass: 1 test, OK."}
  - {text: "Yes: app.py is written, and the tests pass: 1 test, OK."}
"""
    first = house.run(script).session
    (Path(first.workspace).parent / "workspace.json").unlink()
    resume_session(house.engine, house.database, first.id, "is it done?")
    story = house.until(first.id, lambda s: len(s.parcels) == 2)
    again = house.rest(first.id).session
    assert "is gone" in again.result["changes"]["error"], story.told()
    assert again.head_commit == first.head_commit
    assert in_commit(again, "app.py") == "x = 1"


def in_commit(session: SessionRecord, path: str) -> str:
    """What a file holds in the work that can be applied."""
    ref = f"refs/touchline/{session.id}/head"
    asked = ["git", "-C", session.repository, "rev-parse", "--verify", ref]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == session.head_commit
    asked = ["git", "-C", session.repository, "show", f"{session.head_commit}:{path}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def test_stopped_while_its_check_runs_nothing_is_held_against_the_agent(house: House) -> None:
    script = """
turns:
  - {calls: [{write: "${workspace}/app.py", content: "x = 1"}, {shell: python3 -c "import app"}]}
  - {text: "app.py is written, and it can be imported."}
  - {text: "app.py is written, and it can be imported, as before."}
"""
    check = f"echo > {house.folder}/checking; test -e {house.folder}/enough || sleep 60; python3 -m unittest -q"
    id = start_session(house.engine, house.database, house.ask(script, check=check))
    house.until(id, lambda _: (house.folder / "checking").exists())
    stop_session(house.engine, house.database, id)
    story = house.rest(id)
    assert (story.session.status, story.actions) == ("stopped", []), story.told()
    assert alive(house.folder) == []
    (house.folder / "enough").touch()
    resume_session(house.engine, house.database, id)
    assert house.rest(id, unlike="stopped").actions == ["deliver:completed"]


def test_a_job_that_the_engine_takes_away_ends_its_agent(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled there, or taken over by another process: nobody would hear what the agent still says."""
    monkeypatch.setattr(wanted, "ENGINE_SECONDS", 0.2)
    id = start_session(house.engine, house.database, house.ask(LONG))
    begun = house.until(id, lambda s: any(e["tool"] == "Bash" for e in s.of("agent.called")))
    house.engine.cancel(begun.session.job)
    house.until(id, lambda _: alive(house.folder) == [], seconds=30)


def test_a_waiting_session_can_be_stopped_and_its_question_is_withdrawn(house: House) -> None:
    story = house.run(ASKS)
    assert stop_session(house.engine, house.database, story.session.id) == "stopped"
    resume_session(house.engine, house.database, story.session.id, "use decimal")
    assert house.rest(story.session.id, unlike="stopped").session.delivery == "accepted"


def test_stopped_just_before_it_would_ask_it_stops_and_asks_nothing(house: House) -> None:
    # The agent's own command asks for the stop, so that it comes after the last moment at which a turn is interrupted.
    now = "strftime('%Y-%m-%dT%H:%M:%fZ')"
    asks = f"update sessions set stop_by = 'person', stop_asked_at = {now} where status = 'running'"
    wants = house.folder / "wants.py"
    wants.write_text(f"import sqlite3; c = sqlite3.connect('{house.folder}/app.db'); c.execute({asks!r}); c.commit()")
    story = house.run(
        ASKS.replace("- {text: Should", f"- {{calls: [{{shell: python3 {wants}}}]}}\n  - {{text: Should", 1)
    )
    assert story.session.status == "stopped", story.told()
    assert story.of("session.waiting") == []


def test_a_delivered_session_goes_on_with_a_new_message_and_is_delivered_again(house: House) -> None:
    script = "turns:\n  - {text: The answer is 42.}\n  - {heard: why, text: Because six times seven is 42.}\n"
    story = house.run(script, task="What is the answer?")
    assert story.session.status == "delivered", story.told()
    resume_session(house.engine, house.database, story.session.id, "and why is that?")
    story = house.until(story.session.id, lambda s: len(s.parcels) == 2)
    story = house.rest(story.session.id)
    assert "Because" in story.session.result["text"]
    assert len({key for key, _ in story.parcels}) == 2


def test_a_running_session_is_not_resumed(house: House) -> None:
    id = start_session(house.engine, house.database, house.ask(LONG))
    house.until(id, lambda s: s.session.status == "running")
    with pytest.raises(SessionError, match="is running"):
        resume_session(house.engine, house.database, id, "go")
    stop_session(house.engine, house.database, id)
    house.rest(id)


def test_started_twice_under_one_id_it_is_one_session(house: House) -> None:
    asked = house.ask("turns:\n  - {text: The answer is 42.}\n", task="What is the answer?")
    ids = {start_session(house.engine, house.database, asked, id="session_mine") for _ in range(2)}
    story = house.rest(ids.pop())
    assert len(story.of("session.asked")) == 1
    assert len(story.parcels) == 1
    with house.database.reading() as connection:
        assert session_record(connection, "session_mi").id == "session_mine"
        assert "session_mine" in [each.id for each in list_sessions(connection, statuses=["delivered"])]
        with pytest.raises(SessionError, match="no session"):
            session_record(connection, "session_nowhere")


def test_what_was_asked_is_the_same_after_json() -> None:
    asked = Asked(task="Do it", repository="/r", check="make test", contract={"marker": True}, folders=("/a",), usd=1.5)
    assert Asked.from_json(asked.to_json()) == asked
    assert asked.to_json().keys() == {"task", "repository", "check", "contract", "folders", "usd"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"task": " "},
        {"task": "x", "phase": "dreaming"},
        {"task": "x", "usd": 0},
        {"task": "x", "contract": {}},
        {"task": "x", "contract": {"tokens": [{"name": "a", "type": "verdict"}]}},
        {"task": "x", "colour": "red"},
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Asked.from_json(wrong)
