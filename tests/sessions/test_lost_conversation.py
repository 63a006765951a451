"""A CLI that no longer knows a conversation: the turn begins anew with the whole task, instead of failing for good."""

from __future__ import annotations

from tests.sessions.house import House

SCRIPT = """
turns:
  - heard: "/sum function(?s:.*)continue/"
    calls: [{shell: python3 -m unittest -q}]
  - saw: Ran 1 test
    text: "It was there already. The tests pass: 1 test, OK."
  - {text: I looked at it. Next I will look again.}
"""


def test_it_is_begun_anew_and_told_everything(house: House) -> None:
    story = house.run(SCRIPT, agent="forgetful")
    assert story.actions == ["continue:status", "deliver:completed"], story.told()
    assert story.kinds == ["first", "continue"]
    first, second = story.turns
    assert first.cli_session_id
    assert first.cli_session_id != second.cli_session_id
    assert [each["how"] for each in story.of("session.interrupted")] == ["begun anew"]


def test_a_cli_that_cannot_start_at_all_is_not_begun_for_ever(house: House) -> None:
    story = house.run("turns: [{exit: 3}]", agent="forgetful")
    assert story.session.status == "failed", story.told()
    assert all(turn.beginnings <= 2 for turn in story.turns)
