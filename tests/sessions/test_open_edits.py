"""An edit that nobody proved stays open over the turns of a task, whatever the agent says or leaves unsaid later."""

from __future__ import annotations

import pytest
from tests.sessions.house import House

from touchline.sessions.stopping import resume_session

pytestmark = pytest.mark.timeout(120)

EDITS = """
turns:
  - calls:
      - {write: "${workspace}/app.py", content: "def add(a, b):\\n    return a * b + 1\\n"}
"""
CLAIMS = '  - text: "I fixed add() in app.py."\n'
SILENT = "There is nothing more to do here."


@pytest.mark.parametrize(
    "words",
    [SILENT, "The answer is in app.py.", "The function add in app.py returns the product of a and b plus one."],
)
def test_who_was_sent_back_does_not_get_away_by_claiming_nothing(house: House, words: str) -> None:
    story = house.run(EDITS + CLAIMS + f'  - text: "{words}"\n' * 4, task="Fix add() in app.py")
    assert story.session.delivery != "accepted", story.told()
    assert story.actions[0] == "continue:completion_rejected"
    assert story.decisions[-1].evidence["verified_after_last_edit"] is False


def test_nor_by_a_report_of_progress_in_between(house: House) -> None:
    script = EDITS + CLAIMS + '  - text: "I looked again. Next I will run the tests."\n' + f'  - text: "{SILENT}"\n' * 4
    story = house.run(script, task="Fix add() in app.py")
    assert story.session.delivery != "accepted", story.told()
    assert story.actions[:3] == ["continue:completion_rejected", "continue:status", "continue:completion_rejected"]


def test_once_it_is_proved_few_words_are_enough(house: House) -> None:
    script = EDITS + CLAIMS + f'  - calls: [{{shell: python3 -m unittest -q}}]\n  - text: "{SILENT}"\n'
    story = house.run(script, task="Fix add() in app.py")
    assert story.actions == ["continue:completion_rejected", "deliver:completed"], story.told()


def test_a_person_who_is_asked_about_it_settles_it(house: House) -> None:
    claims = "".join(f'  - text: "I fixed add() in app.py{more}."\n' for more in ("", " for good", ", as asked"))
    story = house.run(EDITS + claims + f'  - text: "{SILENT}"\n', task="Fix add() in app.py")
    assert story.actions[-1] == "ask:rejected_again", story.told()
    resume_session(house.engine, house.database, story.session.id, "I looked at it myself: leave it like that.")
    story = house.rest(story.session.id, unlike="waiting")
    assert story.session.delivery == "accepted", story.told()


def test_an_accepted_result_is_settled_too(house: House) -> None:
    script = EDITS + (
        "  - calls: [{shell: python3 -m unittest -q}]\n"
        '  - text: "add() is implemented in app.py. The tests pass: 1 test, OK."\n'
        '  - calls: [{write: "${workspace}/notes.txt", content: "x"}]\n'
        '  - text: "Next I will look at it."\n'
    )
    story = house.run(script, task="Write the sum function.")
    assert story.session.delivery == "accepted", story.told()
    assert story.session.state.settled == story.session.state.calls > 0
