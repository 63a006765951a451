"""An agent that goes in circles is told once, then stopped; a planner is told what planning is for."""

from __future__ import annotations

import json

import pytest
from tests.sessions.house import House

from touchline.supervision.sameness import thrash_data

pytestmark = pytest.mark.timeout(120)

CIRCLE = """
turns:
  - {calls: [{shell: "ls no-such-file"}], times: always}
"""
SLOW_CIRCLE = CIRCLE.replace("ls no-such-file", "python3 -c 'import time; time.sleep(0.3)'; ls no-such-file")
HEARS = """
turns:
  - {calls: [{shell: "ls no-such-file"}], until: "same calls"}
  - {calls: [{write: "${workspace}/found.md", content: "It is not there."}, {shell: python3 -m unittest -q}]}
  - {text: "The file does not exist; I wrote that down in found.md. The tests pass: 1 test, OK."}
"""


def test_a_loop_is_reminded_of_in_mid_turn_and_stopped_when_that_does_not_help(house: House) -> None:
    story = house.run(CIRCLE)
    assert story.actions == ["deliver:thrash_stopped"], story.told()
    assert len(story.of("reminder.sent")) == 1, "once per streak"
    assert story.session.delivery == "unresolved"
    assert (story.turns[0].stopped or "").startswith("loop")
    assert story.of("reminder.sent")[0]["rule"] == "repeat"


def test_an_agent_that_cannot_be_spoken_to_is_steered_by_the_next_turn(house: House) -> None:
    story = house.run(SLOW_CIRCLE, agent="mute")
    assert story.actions == ["steer:thrash_steered", "deliver:thrash_stopped"], story.told()
    assert story.kinds == ["first", "steer"]
    assert story.of("reminder.sent") == []
    (told,) = story.of("coaching.sent")
    assert told["tier"] == "steer"
    assert story.turns[1].prompt == told["text"]
    # It was told, and did the same once more: that is enough. On a busy machine more are under way by then.
    assert len([e for e in story.of("agent.called") if e["number"] == 2]) < 6


def test_an_agent_that_waits_is_not_disturbed(house: House) -> None:
    waits = HEARS.replace('"ls no-such-file"}], until: "same calls"', '"sleep 0; ls no-such-file"}], times: 8')
    story = house.run(waits)
    assert story.actions == ["deliver:completed"], story.told()
    assert story.of("reminder.sent") == []


def test_the_watch_remembers_over_turns(house: House) -> None:
    one = "  - {calls: [{shell: ls no-such-file}], times: 3}\n  - {text: I looked at it. Next I will look again.}\n"
    story = house.run("turns:\n" + one * 3)
    assert [e["number"] for e in story.of("reminder.sent")] == [2], story.told()


def test_an_agent_that_hears_the_reminder_goes_on_and_delivers(house: House) -> None:
    words = house.run(CIRCLE).of("reminder.sent")[0]["text"]
    first = words.splitlines()[0][:40]
    story = house.run(HEARS.replace("same calls", first))
    assert story.actions == ["deliver:completed"], story.told()
    assert len(story.of("reminder.sent")) == 1


def test_a_planner_whose_call_fails_is_told_what_planning_is_for(house: House) -> None:
    script = """
turns:
  - {calls: [{shell: "ls no-such-file"}, {shell: "ls no-such-folder"}]}
  - {text: The answer is that there is no such file.}
"""
    story = house.run(script, task="What is in the file?", read_only=True, sandbox="none")
    reminders = [each for each in story.of("reminder.sent") if each["rule"] == "planning"]
    assert len(reminders) == 1, story.told()
    assert "read" in reminders[0]["text"].lower()


def test_a_planner_that_cannot_be_spoken_to_is_told_with_the_next_message(house: House) -> None:
    script = """
turns:
  - {calls: [{shell: "ls no-such-file"}]}
  - {text: I looked for the file. Next I will look elsewhere.}
  - {text: The answer is that there is no such file.}
"""
    story = house.run(script, task="What is in the file?", read_only=True, agent="mute")
    assert story.kinds == ["first", "continue"], story.told()
    memory = (house.folder / "scripted" / "sessions" / f"{story.session.cli_session_id}.jsonl").read_text()
    said = [json.loads(line)["user"] for line in memory.splitlines() if "user" in json.loads(line)]
    assert said[1] == f"{thrash_data('steer')['planning'].strip()}\n\ncontinue"
    assert story.session.result["changes"] == {}, "nothing to import from who may not write"
