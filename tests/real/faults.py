"""What a session makes of a provider that fails, and of limits. Shared by the CLIs' test files."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.real.stage import Stage, cost_of, tokens

ANNOUNCES = "turns:\n" + "".join(f"  - text: I looked at part {n}. Next I will look at another.\n" for n in range(9))


class Faults:
    """For the CLIs whose own retries can be set."""

    once: ClassVar[dict[str, Any]]
    """Settings with which the CLI does not repeat a request by itself."""

    def test_an_overload_that_passes_is_no_failure(self, stage: Stage) -> None:
        script = "turns: [{calls: [{shell: ls}]}, {error: 529, times: 2}, {text: The answer is 42.}]"
        story = stage.run(script, task="What is the answer?")
        assert story.actions == ["deliver:completed"], story.told()
        assert [each.status for each in stage.played] == [200, 529, 529, 200]
        assert story.session.failures == 0
        assert tokens(story) == cost_of(2)

    def test_an_overload_that_outlives_the_cli_is_waited_out_in_the_same_session(self, stage: Stage) -> None:
        script = "turns: [{calls: [{shell: ls}]}, {error: 529, times: 2}, {text: The answer is 42.}]"
        story = stage.run(script, task="What is the answer?", settings=self.once)
        assert story.actions == [*["retry:provider_fault"] * 2, "deliver:completed"], story.told()
        assert story.kinds == ["first", "retry", "retry"]
        assert story.session.failures == 0, "no attempt is counted"
        assert len({turn.cli_session_id for turn in story.turns}) == 1
        assert stage.played[-1].number == 1, "the history was there"

    def test_a_server_error_that_stays_is_retried_and_delivered_as_an_error(self, stage: Stage) -> None:
        story = stage.run("turns: [{error: 500, times: always}]", task="What is the answer?", settings=self.once)
        assert story.actions == [*["retry:provider_fault"] * 2, "deliver:provider_fault"], story.told()
        assert (story.session.status, story.session.delivery) == ("failed", "error")
        assert [status for _, status in story.parcels] == ["sent"]

    def test_a_refused_key_is_delivered_as_an_error_at_once(self, stage: Stage) -> None:
        story = stage.run("turns: [{error: 401, times: always}]", task="What is the answer?", settings=self.once)
        assert story.actions == ["deliver:api_error"], story.told()
        assert (story.session.status, story.session.delivery) == ("failed", "error")
        assert len(story.turns) == 1

    def test_the_turns_that_were_allowed_run_out(self, stage: Stage) -> None:
        story = stage.run(ANNOUNCES, turns=2)
        assert story.actions == ["continue:status", "deliver:budget_exhausted"], story.told()
        assert (story.session.status, story.session.delivery) == ("delivered", "unresolved")
        assert tokens(story) == cost_of(2)
