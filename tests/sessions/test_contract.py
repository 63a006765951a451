"""A forgotten token is asked for by a short resume; what the answer says is held against the file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.sessions.house import House

pytestmark = pytest.mark.timeout(120)

CONTRACT = {"tokens": [{"name": "plan_path", "type": "path"}], "wants_writes": True}
FIND = 'find: {marker: "(TASK-COMPLETE-[0-9a-f]+)"}\n'
WORK = """turns:
  - calls:
      - {write: "${workspace}/plan.md", content: "# The plan"}
      - {shell: "test -s plan.md && python3 -m unittest -q"}
  - text: "The plan is written and the tests pass: 1 test, OK."
"""


def script(*answers: str) -> str:
    return FIND + WORK + "".join(answers)


def nudged(house: House, answer: str, **asked: Any):  # type: ignore[no-untyped-def]
    return house.run(script(answer), task="Write a plan.", contract=CONTRACT, **asked)


GOOD = '  - {heard: Reply with these lines only, text: "plan_path = ${workspace}/plan.md\\n${marker}"}\n'
# Written just now, so that nothing but its place is wrong with it.
OUTSIDE = (
    "  - {heard: Reply with these lines only, calls: [{shell: echo x > ../outside.md}]}\n"
    '  - text: "plan_path = ${workspace}/../outside.md\\n${marker}"\n'
)
NOWHERE = '  - {heard: Reply with these lines only, text: "plan_path = ${workspace}/nowhere.md\\n${marker}"}\n'
LINKED = (
    "  - {heard: Reply with these lines only, calls: [{shell: echo x > ../outside.md; ln -s ../outside.md away.md}]}\n"
    '  - text: "plan_path = ${workspace}/away.md\\n${marker}"\n'
)
FAILED = "  - {heard: Reply with these lines only, error: 401}\n"


def test_a_missing_token_is_nudged_for_and_the_usage_of_both_turns_is_paid(house: House) -> None:
    story = nudged(house, GOOD)
    assert story.actions == ["nudge:contract_nudge", "deliver:completed"], story.told()
    assert story.kinds == ["first", "nudge"]
    result = story.session.result
    assert (result["delivery"], result["recovered_by"]) == ("accepted", "nudge")
    assert result["values"]["plan_path"] == f"{story.session.workspace}/plan.md"
    assert "The plan is written" in result["text"], "the first turn's words are the result, not the nudge's"
    (sent,) = story.of("nudge.sent")
    assert "plan_path = <absolute path of the file>" in sent["text"]
    assert "plan.md" not in sent["text"]
    one, two = (sum(each["input"] for each in turn.usage.values()) for turn in story.turns)
    models = story.session.spent["models"]
    assert two > 0
    assert sum(each["input"] for each in models.values()) == one + two
    assert story.session.spent["turns"] == 1, "a nudge is no turn of its own"
    assert story.turns[1].cli_session_id == story.turns[0].cli_session_id


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [(OUTSIDE, "outside"), (NOWHERE, "not_found"), (LINKED, "outside")],
    ids=["outside", "nowhere", "link"],
)
def test_a_nudge_that_names_a_wrong_path_is_refused(house: House, answer: str, wrong: str) -> None:
    again = "  - {heard: tried before, text: I could not do it.}\n"
    story = house.run(script(answer, again), task="Write a plan.", contract=CONTRACT, turns=2)
    assert story.actions[:2] == ["nudge:contract_nudge", "retry:contract_retry"], story.told()
    assert story.session.delivery == "unresolved"
    assert story.session.result["recovered_by"] == ""
    words = story.decisions[1].message
    assert "plan_path (missing; asked for it, " in words
    assert f" was given: {wrong})" in words
    assert "plan_path" in "".join(story.session.result["missing"]), "and what is open at the end is named"


def test_a_failed_nudge_leaves_the_first_result_untouched(house: House) -> None:
    story = house.run(script(FAILED), task="Write a plan.", contract=CONTRACT, turns=2)
    assert story.actions[:2] == ["nudge:contract_nudge", "retry:contract_retry"], story.told()
    assert story.turns[1].ended == "api_error"
    # Not the nudge's error: the work stands as it was, and its report still lacks what it lacked.
    before, after = story.decisions[:2]
    assert before.evidence == after.evidence
    assert "plan_path (missing)" in after.message
    result = story.session.result
    assert story.session.status == "delivered"
    assert result["delivery"] == "unresolved"
    assert result["spent"]["tokens"] == sum(
        each[kind] for turn in story.turns for each in turn.usage.values() for kind in each
    )


def test_a_marker_quoted_in_prose_is_no_completion(house: House) -> None:
    text = FIND + (
        "turns:\n"
        '  - calls: [{write: "${workspace}/plan.md", content: "# The plan"}, {shell: python3 -m unittest -q}]\n'
        '  - text: "plan_path = ${workspace}/plan.md\\nI will write ${marker} when all of it is done."\n'
    )
    story = house.run(text + GOOD, task="Write a plan.", contract=CONTRACT)
    assert story.actions[0] == "nudge:contract_nudge", story.told()
    assert story.session.result["recovered_by"] == "nudge"


def test_a_kept_contract_needs_no_nudge(house: House) -> None:
    text = FIND + WORK.replace('OK."', 'OK.\\nplan_path = ${workspace}/plan.md\\n${marker}"')
    story = house.run(text, task="Write a plan.", contract=CONTRACT)
    assert story.actions == ["deliver:completed"], story.told()
    assert story.session.marker
    assert story.session.marker not in story.session.result["text"]


def test_after_a_nudge_that_did_not_help_the_task_is_begun_anew_in_a_new_session(house: House) -> None:
    text = f"""
conversations:
  - name: second
    when: tried before
    find: {{marker: "(TASK-COMPLETE-[0-9a-f]+)"}}
    turns:
      - calls: [{{write: "${{workspace}}/plan.md", content: "# A better plan"}}, {{shell: python3 -m unittest -q}}]
      - text: "The plan is written and the tests pass: 1 test, OK.\\nplan_path = ${{workspace}}/plan.md\\n${{marker}}"
  - name: first
    find: {{marker: "(TASK-COMPLETE-[0-9a-f]+)"}}
    {WORK.replace(chr(10), chr(10) + "    ")}
      - {{heard: Reply with these lines only, calls: [{{write: "${{workspace}}/seen.txt", content: "${{marker}}"}}]}}
      - {{text: I have nothing to add.}}
"""
    story = house.run(text, task="Write a plan.", contract=CONTRACT)
    assert story.actions == ["nudge:contract_nudge", "retry:contract_retry", "deliver:completed"], story.told()
    assert story.turns[2].cli_session_id != story.turns[0].cli_session_id
    assert story.session.delivery == "accepted"
    first = (Path(story.session.workspace) / "seen.txt").read_text()
    assert first.startswith("TASK-COMPLETE-")
    assert story.session.marker != first, "a marker that the last attempt left in a file completes nothing"
