"""Masking and splitting: what counts as the agent's own words, and where its sentences are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.supervision.prose import CODE, HEAD, QUOTE, TAIL, read


def test_code_fences_and_inline_code_are_no_words() -> None:
    prose = read("Ran it.\n```sh\necho all done?\n```\nThen `npm test` was next.")
    assert "echo" not in prose.words
    assert "npm" not in prose.words
    assert CODE * len("`npm test`") in prose.words
    assert "echo all done?" in prose.shown


def test_an_unclosed_fence_hides_the_rest() -> None:
    assert "which one" not in read("Here:\n```\nwhich one?").words


def test_quotations_and_block_quotes_are_masked_but_apostrophes_are_not() -> None:
    prose = read("It says \"all tests passed\".\n> I am done.\nThat isn't so, and it won't be.")
    assert "passed" not in prose.words
    assert QUOTE in prose.words
    assert "i am done" not in prose.words
    assert "that isn't so, and it won't be." in prose.words


def test_pasted_tool_output_is_masked() -> None:
    prose = read("I looked.\n<tool_result>\nDone. All fixed.\n</tool_result>\n$ make all\nNothing more.")
    assert "fixed" not in prose.words
    assert "make all" not in prose.words
    assert "nothing more." in prose.words


def test_sentences_may_span_lines_and_abbreviations_do_not_end_them() -> None:
    prose = read("Should the cache live in memory,\nor on disk, e.g. in sqlite? I can do both.")
    first, second = (s.words for s in prose.sentences)
    assert first.startswith("should the cache")
    assert first.rstrip().endswith("sqlite?")
    assert second == "i can do both."


def test_items_headings_and_sections() -> None:
    prose = read("## Next steps\n- one\n- two\n\nTail.")
    assert [s.item for s in prose.sentences] == [False, True, True, False]
    assert prose.sentences[0].heading
    assert {s.section for s in prose.sentences} == {"next steps"}


def test_long_texts_are_seen_through_head_and_tail_with_true_offsets() -> None:
    text = "Start.\n" + "x" * (HEAD + TAIL) + "\n\nThe last words."
    prose = read(text)
    assert len(prose.looked_at) == HEAD + TAIL
    last = prose.sentences[-1]
    span = prose.span(last.start, last.end)
    assert span.text == "The last words." == text[span.start : span.end]
    assert prose.offset(span) == last.start


def test_letters_whose_lower_case_is_longer_do_not_shift_offsets() -> None:
    text = "İİİ Fixed the crash."
    prose = read(text)
    assert len(prose.words) == len(text)
    assert prose.words.endswith("fixed the crash.")


@given(st.text(max_size=400))
def test_masking_keeps_every_length(text: str) -> None:
    prose = read(text)
    assert len(prose.words) == len(prose.shown) == len(prose.looked_at) == len(text)
    for sentence in prose.sentences:
        assert 0 <= sentence.start < sentence.end <= len(text)
        span = prose.span(sentence.start, sentence.end)
        assert span.text == text[span.start : span.end]


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in run\nValueError: x'


def test_a_code_block_opened_or_closed_within_a_line_hides_only_itself() -> None:
    for text in (f"It was: ```{TRACE}``` Fixed that.", f"It was:\n```\n{TRACE}\n``` Fixed that."):
        prose = read(text)
        assert "traceback" not in prose.words
        assert "valueerror" not in prose.unquoted
        assert "it was:" in prose.words
        assert "fixed that." in prose.words


def test_ticks_that_nothing_closes_hide_nothing_before_or_after_their_line() -> None:
    assert "all done" in read("A fence begins with ``` and so on.\nAll done.").words


@pytest.mark.parametrize(
    "line", ["%%DONE-77%%", "::done::", "<done>", "<<DONE>>", "[[done]]", "**%%DONE%%**", "verdict = done", "done=yes"]
)
def test_a_line_that_a_contract_asks_for_is_no_sentence(line: str) -> None:
    prose = read(f"I looked at it.\n{line}\nNothing more.")
    assert "done" not in prose.words
    assert "nothing more." in prose.words


@pytest.mark.parametrize(
    "line",
    ["**Done.**", "Done: a == b holds.", "- done", "`a = b` is done.", "# Done", "<b> is done", "It is done => ok"],
)
def test_a_line_of_prose_is_not_taken_for_a_marker(line: str) -> None:
    assert "done" in read(line).words
