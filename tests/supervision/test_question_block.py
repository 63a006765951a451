"""A question block is a question for certain; the same words in ordinary code, or only shown, are none."""

from __future__ import annotations

import pytest

from touchline.supervision.facts import Ended
from touchline.supervision.question_block import questions_in
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind

BLOCK = "```question\n8080 or 9090\n```"


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        f"I have implemented the server and all tests pass.\n\n{BLOCK}\n",
        f"Now I will go on with the client.\n\n{BLOCK}\n\nI wait.",
        "~~~ Question\r\n8080 or 9090\r\n~~~\r\n",
        f"```python\nx = 1\n```\n{BLOCK}",
        f"- as in\n- ```py\n  x\n  ```\n\n{BLOCK}",
    ],
)
def test_a_block_is_a_question_whatever_else_is_said(text: str) -> None:
    stop = classify(text)
    assert (stop.kind, stop.confidence, stop.reason) == (Kind.QUESTION, 1.0, "question_block")
    assert [span.text for span in stop.spans] == ["8080 or 9090"]
    assert all(text[span.start : span.end] == span.text for span in stop.spans)


@pytest.mark.parametrize(
    "text",
    [
        "```\nquestion\n8080 or 9090\n```",
        "```python\n# question\nwhich_port()\n```",
        f"````markdown\n{BLOCK}\n````",
        "> ```question\n> 8080 or 9090\n> ```",
        "```question\n\n```",
        "```question\n8080 or 9090",
        "```questions\n8080 or 9090\n```",
        "The block is opened by ```question``` on its line.",
        "",
    ],
)
def test_code_and_what_is_only_shown_asks_nothing(text: str) -> None:
    assert questions_in(text) == ()
    assert classify(f"All 12 tests pass.\n\n{text}").reason != "question_block"


def test_a_turn_that_was_cut_off_has_not_asked() -> None:
    assert classify(BLOCK, ended=Ended.LIMIT).reason == "ended_limit"
    assert classify(BLOCK, ended=Ended.CRASHED).kind is Kind.ERROR
