"""`touchline sessions`, started as a person starts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.runs import HEDGES, LONG, Desk, desk

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with one session that was coached and delivered."""
    made = desk(tmp_path_factory.mktemp("desk"))
    made.done(*made.task(HEDGES, task="Write the sum function, so that it takes any number of whole numbers."))
    return made


def test_list_shows_each_session_and_filters_by_status(told: Desk) -> None:
    done = told.done("sessions", "list")
    (session,) = told.sessions()
    assert session["session"].rpartition("_")[2] in done.stdout
    assert "accepted  scripted" in done.stdout, "where there is little room, the task alone is cut"
    assert "no such session" in told.done("sessions", "list", "--status", "waiting").stderr
    assert "asleep is no status" in told.done("sessions", "list", "--status", "asleep", code=2).stderr


def test_show_has_turns_decisions_coaching_evidence_cost_and_raw_paths(told: Desk) -> None:
    id = told.sessions()[0]["session"]
    shown = told.told("sessions", "show", id.rpartition("_")[2][:6])
    assert shown["session"] == id
    assert [turn["kind"] for turn in shown["turns"]] == ["first", "continue"]
    assert [(d["action"], d["tier"]) for d in shown["decisions"]] == [("continue", "rejection"), ("deliver", None)]
    assert [Path(turn["raw"]).name for turn in shown["turns"]] == ["turn-1.jsonl", "turn-2.jsonl"]
    assert all(Path(turn["raw"]).is_file() for turn in shown["turns"])
    assert shown["decisions"][1]["evidence"]["last_test_run"]["passed"] == 1
    assert shown["spent"]["tokens"] == sum(sum(u.values()) for turn in shown["turns"] for u in turn["usage"].values())
    words = told.done("sessions", "show", id).stdout
    for each in ("Turn 2", "decided  continue: ", "[rejection] [System Coach]", "turn-1.jsonl", "Accepted"):
        assert each in words, words


def test_log_reads_as_a_transcript_and_raw_is_the_stream(told: Desk) -> None:
    id = told.sessions()[0]["session"]
    done = told.done("sessions", "log", id)
    for each in (
        "── Turn 1 (first)",
        "> Write the sum function, so",
        "• Write app.py",
        "It should work now.",
        "Ran 1 test",
    ):
        assert each in done.stdout, done.stdout
    second = told.done("sessions", "log", id, "--turn", "2").stdout
    assert "Turn 1" not in second
    raw = told.done("sessions", "log", id, "--raw").stdout
    assert [json.loads(line)["type"] for line in raw.splitlines()].count("result") == 2
    lines = told.lines("sessions", "log", id)
    assert [line["kind"] for line in lines if line["turn"] == 1] == ["told", "called", "answered", "said"]
    assert "has 2 turns, not 9" in told.done("sessions", "log", id, "--turn", "9", code=2).stderr


def test_unknown_sessions_and_databases_are_told(told: Desk, tmp_path: Path) -> None:
    for command in ("show", "log", "stop", "resume", "follow"):
        assert "There is no session 'nobody'" in told.done("sessions", command, "nobody", code=2).stderr
    (tmp_path / "repo").mkdir()
    nowhere = Desk(tmp_path)
    for words in (["list"], ["stop", "x"], ["resume", "x"], ["follow", "x"]):
        nowhere.done("sessions", *words, code=2)
    assert not Path(nowhere.database).exists(), "looking makes no database"


def test_another_process_stops_it_and_both_say_so(tmp_path: Path) -> None:
    own = desk(tmp_path)
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        (session,) = own.sessions()
        assert "is running" in own.done("sessions", "resume", session["session"], code=2).stderr
        done = own.done("sessions", "stop", session["session"])
        assert "touchline sessions resume" in done.stderr
        assert run.code() == 1
        assert "Stopped" in run.said()
    assert own.alive() == []
    assert own.told("sessions", "stop", session["session"])["before"] == "stopped"


def test_a_session_that_nothing_runs_is_stopped_here_and_now(tmp_path: Path) -> None:
    own = desk(tmp_path)
    with own.running(*own.task(LONG)) as run:
        run.until("$ sleep 600")
        run.process.kill()
        run.process.wait()
    (session,) = own.sessions()
    assert session["status"] == "running"
    assert own.told("sessions", "stop", session["session"])["status"] == "stopped"
    done = own.done("sessions", "resume", session["session"], "Go on, please.")
    assert "Accepted" in done.stdout
