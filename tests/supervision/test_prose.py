"""Masking and splitting: what counts as the agent's own words, and where its sentences are."""

from __future__ import annotations

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
