"""The cap that is set is the one that the hook's own process keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hooks.test_hook_process import Agent

CLAIMS = ("It should work now.", "I fixed it.", "All tests pass.", "I pushed it.")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "sent_back"),
    [("[hooks]\ncap = 1\n", [True, False, False, False]), ("[hooks\n", [True, True, True, False])],
    ids=["one", "broken"],
)
def test_a_stop_is_sent_back_as_often_as_is_set(tmp_path: Path, text: str, sent_back: list[bool]) -> None:
    agent = Agent(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "touchline.toml").write_text(text)
    agent.prompted("Write the parser")
    agent.edited()
    told = [agent.stop(f"I have implemented the parser. {claim}") for claim in CLAIMS]
    assert [words is not None for words in told] == sent_back
    assert agent.log == ""
