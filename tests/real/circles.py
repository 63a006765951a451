"""What a session makes of an agent that goes in circles. Shared by the CLIs' test files."""

from __future__ import annotations

from tests.real.stage import Stage

CIRCLE = """
turns:
  - {text: I look., calls: [{shell: ls no-such-file}], times: always}
"""


class SpokenTo:
    """For CLIs that take a message in mid-turn."""

    def test_a_loop_is_told_in_mid_turn_and_stopped_when_that_does_not_help(self, stage: Stage) -> None:
        story = stage.run(CIRCLE)
        assert story.actions == ["deliver:thrash_stopped"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "unresolved")
        (told,) = story.of("reminder.sent")
        assert (story.turns[0].stopped or "").startswith("loop")
        assert stage.heard(told["text"]), "the reminder reached the model"
        assert stage.heard(told["text"])[0].number > 0, "in the middle of the turn"
        assert len(stage.played) < 12


class ToldNext:
    """For CLIs that cannot be spoken to before the turn is over."""

    def test_a_loop_is_ended_told_by_a_resume_and_stopped_when_that_does_not_help(self, stage: Stage) -> None:
        story = stage.run(CIRCLE)
        assert story.actions == ["steer:thrash_steered", "deliver:thrash_stopped"], story.told()
        assert story.kinds == ["first", "steer"]
        assert (story.session.status, story.session.delivery) == ("delivered", "unresolved")
        (told,) = story.of("coaching.sent")
        assert told["tier"] == "steer"
        assert len(stage.heard(told["text"])) == 1, "the reminder reached the model"
        assert stage.heard(told["text"])[0].number > 2, "in the session that went in circles"
        assert story.turns[0].cli_session_id == story.turns[1].cli_session_id
        assert len(stage.played) < 12
