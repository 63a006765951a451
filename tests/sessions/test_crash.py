"""Touchline killed with SIGKILL anywhere in a session: started again it comes to one delivery, with nothing left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.zygote import Zygote
from tests.sessions.house import Story, alive, opened, place_of, story_of

from touchline.sessions.starting import start_session
from touchline.sessions.turn_step import MOST_BEGINNINGS
from touchline.store.fault_points import FAULT_POINTS
from touchline.store.migrate import open_database

pytestmark = pytest.mark.timeout(240)

ID = "session_crash"
SCRIPT = """
turns:
  - calls: [{write: "${workspace}/app.py", content: "def add(a, b):\\n    return a + b\\n"}]
  - text: I have implemented add(). It should work now.
  - heard: "/System Coach|interrupted/"
    calls: [{shell: python3 -m unittest -q}]
  - heard: interrupted
    calls: [{shell: python3 -m unittest -q}]
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."
"""
POINTS = [name for name in FAULT_POINTS if name.startswith("session.")]


def play(folder: str, script: str = SCRIPT, seconds: float = 90.0) -> int:
    """In a process of its own: start the session if it is not there, and wait until it rests."""
    here = Path(folder)
    with opened(here) as house:
        path = here / "script.yaml"
        if not path.exists():
            path.write_text(script)
        asked = house.ask(script, settings={"script": str(path)}, channel="file", destination=str(here / "result.json"))
        start_session(house.engine, house.database, asked, id=ID)
        house.rest(ID, seconds=seconds)
    return 0


@pytest.fixture(scope="module")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    log = tmp_path_factory.mktemp("zygote") / "log"
    with Zygote(log) as made:
        yield made
    print(log.read_text()[-4000:])


def story(folder: Path) -> Story:
    with open_database(place_of(folder).url, purpose="test") as database:
        return story_of(database, ID)


def gone(folder: Path) -> bool:
    until = time.monotonic() + 10
    while alive(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def killed(zygote: Zygote, folder: Path, fault: str) -> None:
    assert zygote.run("tests.sessions.test_crash.play", folder=str(folder), fault=fault) == -9, f"never came to {fault}"
    assert gone(folder), f"left over after {fault}: {alive(folder)}"


def finished(zygote: Zygote, folder: Path) -> Story:
    assert zygote.run("tests.sessions.test_crash.play", folder=str(folder)) == 0
    assert gone(folder)
    return story(folder)


CHAINS = {
    "in turn and decision": ["asked", "turn_begun", "turn_ended", "judged", "acting", "turn_heard"],
    "in delivery": ["turn_over", "collected", "delivering", "sent"],
}


def test_every_fault_point_of_a_session_is_killed_at() -> None:
    assert sorted(f"session.{name}" for names in CHAINS.values() for name in names) == sorted(POINTS)


@pytest.mark.parametrize("chain", CHAINS)
def test_killed_again_and_again_it_is_delivered_once(zygote: Zygote, tmp_path: Path, chain: str) -> None:
    for name in CHAINS[chain]:
        killed(zygote, tmp_path, f"session.{name}")
    done = finished(zygote, tmp_path)
    assert (done.session.status, done.session.delivery) == ("delivered", "accepted"), done.told()
    assert [status for _, status in done.parcels] == ["sent"]
    assert (tmp_path / "result.json").exists()
    assert len(done.of("session.ended")) == 1
    assert [each.number for each in done.turns] == list(range(1, len(done.turns) + 1))
    assert done.session.result["evidence"]["files_in_all"] == 1
    assert done.actions[-1] == "deliver:completed"
    if chain == "in turn and decision":
        # Before the process started the turn begins as it was ordered; once the agent was heard, it is resumed.
        assert [(each["number"], each["how"]) for each in done.of("session.interrupted")] == [
            (1, "begun anew"),
            (2, "resumed"),
        ]
    assert done.actions.count("continue:completion_rejected") <= 1


def test_killed_in_the_middle_of_a_turn_the_cli_session_is_resumed_and_no_evidence_is_lost(
    zygote: Zygote, tmp_path: Path
) -> None:
    # The second thing that is heard is the call's successor: the file was written before the kill.
    killed(zygote, tmp_path, "session.turn_heard:2")
    torn = story(tmp_path)
    assert torn.turns[0].ended is None
    assert torn.turns[0].cli_session_id
    done = finished(zygote, tmp_path)
    first = done.turns[0]
    assert first.beginnings == 2, done.told()
    assert first.cli_session_id == torn.turns[0].cli_session_id
    (interrupted,) = done.of("session.interrupted")
    assert interrupted["how"] == "resumed"
    assert interrupted["heard"] >= 2
    memory = (tmp_path / "scripted" / "sessions" / f"{first.cli_session_id}.jsonl").read_text()
    assert memory.count("Write the sum function.") == 1, "it goes on, it does not begin again"
    assert "You were interrupted" in memory
    calls = [each for each in done.of("agent.called") if each["tool"] == "Write"]
    assert len(calls) == 1, "what was done is not done again"
    assert done.session.result["evidence"]["files_in_all"] == 1, "and is evidence all the same"


def test_the_crash_guard_ends_a_session_that_keeps_dying_in_one_turn(zygote: Zygote, tmp_path: Path) -> None:
    for _ in range(MOST_BEGINNINGS):
        killed(zygote, tmp_path, "session.turn_heard")
    done = finished(zygote, tmp_path)
    assert (done.session.status, done.session.reason) == ("failed", "crash_guard"), done.told()
    assert f"{MOST_BEGINNINGS} times" in done.session.detail
    assert [status for _, status in done.parcels] == ["sent"]
