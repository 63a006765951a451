"""Any text at all: `classify` never raises, its spans are true, and its time stays bounded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.supervision.evidence import Ledger, Write
from touchline.supervision.facts import Ended
from touchline.supervision.stop import classify
from touchline.supervision.stops import Kind

PIECES = (
    "All 42 tests passed. ",
    "should work now ",
    "which do you prefer? ",
    "`code` ",
    "```\n",
    '"',
    "'",
    "\n",
    "- ",
    "# ",
    "I'll now ",
    "not ",
    "created `a/b.py` ",
    "API Error: ",
    "İ",
    "完成。",
    "> ",
    "| ",
    "3 tests fail ",
    "no failures ",
    "x = 1\n",
    "%%A%%\n",
    "a ``` b",
)
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


@settings(max_examples=150, deadline=None)
@given(text=texts, task=st.text(max_size=60), ended=st.sampled_from(list(Ended)), with_ledger=st.booleans())
def test_it_never_raises_and_every_span_is_true(text: str, task: str, ended: Ended, with_ledger: bool) -> None:
    ledger = Ledger(calls=1, writes=(Write(path="a/b.py", call=0, how="tool"),)) if with_ledger else None
    stop = classify(text, task=task, ended=ended, ledger=ledger)
    assert 0.0 <= stop.confidence <= 1.0
    assert not stop.rejected or stop.missing
    for span in (*stop.spans, *stop.hedges, *stop.proof_shown, *(c.span for c in stop.claims)):
        assert 0 <= span.start <= span.end <= len(text)
        assert span.text == text[span.start : span.end]


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "'",
        '"',
        "`",
        "\n",
        "?",
        "not ",
        "1 ",
        "all tests ",
        "which ",
        "- done\n",
        "error: ",
        "(((",
        "the the ",
        "i'll ",
        "x``` lint ",
        "x ```\n",
        "3 failed ",
        "2 failing tests ",
        "%%a%%\n",
        "a = b\n",
    ],
)
@pytest.mark.timeout(30)  # quadratic, it would take minutes
def test_200_kb_of_anything_is_read(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert classify(text, task=text).kind in Kind


def test_the_end_of_a_huge_message_still_decides() -> None:
    text = "word " * 50_000 + "\n\nWhich database do you prefer?"
    stop = classify(text)
    assert stop.kind == "question"
    assert stop.spans[0].text == "Which database do you prefer?"
