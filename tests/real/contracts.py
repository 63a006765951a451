"""What a session makes of a report that lacks what was asked for. Shared by the CLIs' test files."""

from __future__ import annotations

from tests.real.stage import Stage, cost_of, tokens
from tests.sessions.house import Story

from touchline.sessions.raw import usage_from_json
from touchline.supervision.facts import Usage

CONTRACT = {"tokens": [{"name": "plan_path", "type": "path"}], "wants_writes": True}
HEAD = 'find: {marker: "(TASK-COMPLETE-[0-9a-f]+)", folder: "You work in (\\\\S+)\\\\. It is"}\n'
WORK = """turns:
  - {text: I write it., calls: [{write: plan.md, content: "# The plan\\n"}]}
  - {text: I check it., calls: [{shell: "test -s plan.md && python3 -m unittest -q"}]}
  - text: "The plan is written and the tests pass: 1 test, OK."
"""
NUDGE = "Reply with these lines only"
GOOD = f'  - {{heard: {NUDGE}, text: "plan_path = ${{folder}}/plan.md\\n${{marker}}"}}\n'
OUTSIDE = f'  - {{heard: {NUDGE}, text: "plan_path = /etc/hostname\\n${{marker}}"}}\n'
FAILED = f"  - {{heard: {NUDGE}, error: 401, times: 50}}\n"
QUOTED = """turns:
  - {text: I write it., calls: [{write: plan.md, content: "# The plan\\n"}]}
  - {text: I check it., calls: [{shell: python3 -m unittest -q}]}
  - text: "plan_path = ${folder}/plan.md\\nI will write ${marker} when all of it is done."
"""


def nudged(stage: Stage, script: str, **more: int) -> Story:
    return stage.run(HEAD + script, task="Write a plan.", contract=CONTRACT, **more)


class Contracts:
    """For every CLI."""

    tells_all_tokens = True
    """False for a CLI that tells the tokens of a turn's last reply only."""

    def test_a_missing_token_is_nudged_for_and_both_turns_are_paid(self, stage: Stage) -> None:
        story = nudged(stage, WORK + GOOD)
        assert story.actions == ["nudge:contract_nudge", "deliver:completed"], story.told()
        assert story.kinds == ["first", "nudge"]
        result = story.session.result
        assert (result["delivery"], result["recovered_by"]) == ("accepted", "nudge")
        assert result["values"]["plan_path"] == f"{story.session.workspace}/plan.md"
        assert "The plan is written" in result["text"], "the work's words are the result, not the nudge's"
        assert story.turns[0].cli_session_id == story.turns[1].cli_session_id
        (sent,) = story.of("nudge.sent")
        (asked,) = stage.heard(sent["text"])
        assert asked.number == 3, "a real resume: the model sees the work before it"
        apart = stage.cli != "gemini"
        if self.tells_all_tokens:
            assert tokens(story) == cost_of(4, cached_apart=apart)
            first, second = (sum(usage_from_json(turn.usage).values(), Usage()) for turn in story.turns)
            assert (first.total, second.total) == (3 * 1250, 1250)
        assert story.session.spent["turns"] == 1, "a nudge is no turn of its own"


class MoreContracts(Contracts):
    """For the CLIs that start quickly."""

    def test_a_nudge_that_names_a_path_outside_is_refused(self, stage: Stage) -> None:
        story = nudged(stage, WORK + OUTSIDE, turns=1)
        assert story.actions[0] == "nudge:contract_nudge", story.told()
        assert story.session.delivery == "unresolved"
        assert story.session.result["recovered_by"] == ""
        assert "/etc/hostname" not in str(story.session.result["values"])
        assert len(stage.heard(NUDGE)) == 1, "asked once"

    def test_a_failed_nudge_leaves_the_first_result_untouched(self, stage: Stage) -> None:
        story = nudged(stage, WORK + FAILED, turns=1)
        assert story.actions[0] == "nudge:contract_nudge", story.told()
        assert story.turns[1].ended == "api_error"
        assert story.session.status == "delivered", "the nudge's error is not the session's"
        result = story.session.result
        assert result["delivery"] == "unresolved"
        assert "The plan is written" in result["text"]
        before, after = story.decisions
        assert before.evidence == after.evidence
        assert tokens(story) == cost_of(3), "a failed request costs nothing"

    def test_a_marker_quoted_in_prose_is_no_completion(self, stage: Stage) -> None:
        story = nudged(stage, QUOTED + GOOD)
        assert story.actions == ["nudge:contract_nudge", "deliver:completed"], story.told()
        assert story.session.result["recovered_by"] == "nudge"
