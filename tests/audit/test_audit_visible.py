"""Text from logs is shown, never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.audit.figures import dollars, share, short_ids, size, tokens
from touchline.audit.markup import Markup, element
from touchline.audit.visible import cut, one_line, sentence_around, visible


def test_control_characters_and_overrides_are_signs() -> None:
    assert visible("\x1b[31mred\x07") == "␛[31mred␇"
    assert visible("user\u202etxt.exe") == "user⟨U+202E⟩txt.exe"
    assert visible("\x9b2J\x7f\u2066\ufeff") == "⟨U+009B⟩2J␡⟨U+2066⟩⟨U+FEFF⟩"


def test_ordinary_text_stays() -> None:
    assert visible("größer\n\ttab 測試 😀 é") == "größer\n\ttab 測試 😀 é"


@given(st.text())
def test_nothing_that_acts_survives(text: str) -> None:
    shown = visible(text)
    assert not any(ord(c) < 0x20 and c not in "\n\t" for c in shown)
    assert not any(0x7F <= ord(c) < 0xA0 or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)
    shown.encode()


@given(st.text(), st.integers(2, 50))
def test_a_line_is_one_line_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit


def test_markup_escapes_all_but_markup() -> None:
    made = element("p", "<b>&\"'", Markup("<i>kept</i>"), title='"><script>', class_="x")
    assert made == ('<p title="&quot;&gt;&lt;script&gt;" class="x">&lt;b&gt;&amp;&quot;&#x27;<i>kept</i></p>')


def test_a_quote_is_the_sentence_around() -> None:
    text = "First line.\nI changed v1.2 here. All 4 tests pass, so it is done! More."
    start = text.index("4 tests")
    assert sentence_around(text, start, start + 12) == "All 4 tests pass, so it is done!"
    assert sentence_around("Done", 0, 4) == "Done"


@pytest.mark.parametrize(
    ("number", "shown"), [(None, "–"), (0, "0 %"), (0.004, "<1 %"), (0.5, "50 %"), (0.999, ">99 %"), (1, "100 %")]
)
def test_shares_are_never_rounded_to_all_or_nothing(number: float | None, shown: str) -> None:
    assert share(number) == shown


def test_figures() -> None:
    assert [tokens(n) for n in (0, 999, 1234, 56_789, 123_456, 7_654_321)] == [
        "0", "999", "1.23k", "56.8k", "123k", "7.65M",
    ]  # fmt: skip
    assert [dollars(n) for n in (None, 0.0, 0.004, 1234.5)] == ["–", "$0.00", "<$0.01", "$1,234.50"]
    assert [size(n) for n in (12, 2048, 5 << 20)] == ["12 B", "2.0 kB", "5.0 MB"]
    assert cut("abcdef", 4) == "abc…"


def test_short_ids_tell_ids_apart() -> None:
    ids = ["01a1e1f7-3b5b-7bc3", "01a1e1f7-39e9-75a2", "dd4673c9-983b-4eca", ""]
    short = short_ids(ids)
    assert short["dd4673c9-983b-4eca"] == "dd4673c9"
    assert short["01a1e1f7-3b5b-7bc3"] == "01a1e1f7-3b"
    assert len(set(short.values())) == 4
