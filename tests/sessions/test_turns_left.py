"""An agent is told when its turns come to an end, in the message that begins the turn, and in no other."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

from touchline.sessions.reviewing import REVIEWERS, Opinion

pytestmark = pytest.mark.timeout(120)
ANNOUNCES = "turns:\n" + "".join(
    f"  - text: I looked at part {n}. Next I will look at another one.\n" for n in range(9)
)
TWO_LEFT = "[System Coach] 2 of the 4 turns for this task are left, this one included."
LAST = "[System Coach] This is the last of the 4 turns for this task."


def test_the_last_two_turns_begin_with_how_many_are_left(house: House) -> None:
    story = house.run(ANNOUNCES, turns=4)
    said = house.prompts(story)
    assert len(said) == 4, story.told()
    assert ["System Coach" in words for words in said] == [False, False, True, True]
    assert said[2].startswith(f"continue\n\n{TWO_LEFT}")
    assert said[3].startswith(f"continue\n\n{LAST}")
    assert [turn.prompt for turn in story.turns[1:]] == said[1:], "it is on record"


def test_without_a_limit_nothing_is_said_of_turns(house: House) -> None:
    assert not any("turns for this task" in words for words in house.prompts(house.run(ANNOUNCES)))


def test_turns_that_a_reviewer_gave_are_counted_anew(house: House) -> None:
    REVIEWERS["eve"] = lambda _: Opinion(verdict="approved", guidance="Go on.")
    try:
        story = house.run(ANNOUNCES, turns=3, reviewer="eve")
    finally:
        del REVIEWERS["eve"]
    assert story.kinds == ["first", "continue", "continue", "review", "continue"], story.told()
    assert ["turns for this task" in words for words in house.prompts(story)] == [False, True, True, False, True]


def test_a_nudge_asks_for_one_thing_only(house: House) -> None:
    script = """
find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}
turns:
  - {calls: [{write: "${workspace}/found.md", content: "Found."}, {shell: python3 -m unittest -q}]}
  - {text: "found.md is written. The tests pass: 1 test, OK."}
  - {text: "${marker}"}
"""
    story = house.run(script, contract={"marker": True}, turns=2)
    assert story.kinds == ["first", "nudge"], story.told()
    assert "turns" not in house.prompts(story)[1]
