"""Work, a provider that refuses, and turns that run out, for the CLIs that take seconds to start: few turns."""

from __future__ import annotations

from tests.real.completions import CODE, WORK
from tests.real.faults import ANNOUNCES
from tests.real.stage import Stage


class SlowWork:
    """For every CLI; those that start quickly have more of each."""

    def test_a_file_is_written_a_command_is_run_and_the_work_is_accepted(self, stage: Stage) -> None:
        story = stage.run(WORK)
        assert story.actions == ["deliver:completed"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "accepted")
        assert stage.file(story, "app.py") == CODE.encode().decode("unicode_escape")
        ran = [event["args"].get("command", "") for event in story.of("agent.called")]
        assert any("unittest" in command for command in ran), ran
        assert [path.rpartition("/")[2] for path in story.session.result["evidence"]["files"]] == ["app.py"]

    def test_a_refused_key_is_delivered_as_an_error_at_once(self, stage: Stage) -> None:
        story = stage.run("turns: [{error: 401, times: always}]", task="What is the answer?")
        assert story.actions == ["deliver:api_error"], story.told()
        assert (story.session.status, story.session.delivery) == ("failed", "error")
        assert len(story.turns) == 1

    def test_turns_run_out(self, stage: Stage) -> None:
        story = stage.run(ANNOUNCES, task="Look at all parts.", turns=2)
        assert story.actions == ["continue:status", "deliver:budget_exhausted"], story.told()
        assert "turns: 2 of 2" in story.session.detail
        assert len({turn.cli_session_id for turn in story.turns}) == 1
