"""A list of phrases that is not tried on a text must be one that could not have matched it."""

from __future__ import annotations

import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touchline.supervision import phrases, prepared
from touchline.supervision.needed_words import needed_words

LISTS = {name: whole for name, whole in phrases._lists().items() if isinstance(whole, str)}


def needed(pattern: str) -> tuple[str, ...]:
    return needed_words(_parser.parse(pattern, 0))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\b(?:all |some )?tests? pass\b", (" pass",)),
        (r"fail(?:s|ed)|broken", ("broken", "fail")),
        (r"(?:done|finished)+", ("done", "finished")),
        (r"(?:done|finished)* now", (" now",)),
        (r"(?:done|\w+)", ()),
        (r"(?:done)?", ()),
        (r"(?=done)\w+", ()),
        (r"[abc]\d", ()),
        (r"(?i)done", ()),
        (r"(?i:done)", ()),
        (r"(?>done)|(?:go){2}", ("done", "go")),
    ],
)
def test_the_words_that_every_match_holds(pattern: str, words: tuple[str, ...]) -> None:
    assert needed(pattern) == words


@pytest.mark.parametrize("name", LISTS)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_list_matches_holds_one_of_its_words(name: str, data: st.DataObject) -> None:
    words = needed(LISTS[name])
    # Without word boundaries, which are hard to hit by chance, a list only matches more.
    wider = LISTS[name].replace(r"\b", "").replace(r"(?=\w)", "")
    text = data.draw(st.from_regex(re.compile(wider)))
    assert not words or any(word in text for word in words), (words, text)


def test_most_lists_have_such_words() -> None:
    assert sum(bool(needed(whole)) for whole in LISTS.values()) > len(LISTS) * 0.8


def test_a_kept_list_is_made_ready_only_where_one_of_its_words_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = str(tmp_path / "rules.bin")
    for round in ("compiled", "kept"):
        monkeypatch.setattr(prepared, "_store", prepared._Store())
        monkeypatch.setattr(prepared, "_shapes", {})
        prepared.use(store)
        some = phrases.Phrases("some", r"\b(?:all )?tests? (?:pass|fail)\b")
        assert some.search("nothing of the kind") is None
        assert bool(prepared._shapes) is (round == "compiled")
        assert list(some.finditer("no")) == []
        found = some.match("all tests pass", 4)
        assert found is not None
        assert found.span() == (4, 14)
        assert prepared._shapes
        prepared.keep()
