"""The page: self-contained, safe against hostile text, usable without a script, and complete."""

from __future__ import annotations

import re
import stat
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from touchline.audit.findings import Unreadable
from touchline.audit.page import page, write_page
from touchline.audit.plots import columns
from touchline.audit.run import Audit, audit
from touchline.audit.samples import SAMPLES
from touchline.audit.selection import choose
from touchline.audit.summary import Day, summarise
from touchline.errors import InputError

MADE = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "'\"><svg onload=alert(1)>",
    "{{script}} {{body}} {{style}}",
    "</style><style>*{display:none}",
    "javascript:alert(1)",
    "\x1b[2J\u202etxt\u2066",
    "&lt;b&gt; &amp;",
    "<!--", "]]>", "\x00",
)  # fmt: skip


class Tags(HTMLParser):
    """All tags with their attributes, the text, and whether every element is closed in order."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def samples() -> Audit:
    return audit(choose([SAMPLES]))


def poisoned(result: Audit, words: str) -> Audit:
    """The audit with hostile words wherever a log can put words."""
    sessions = tuple(
        replace(
            session,
            id=f"{words}{place}",
            agent=words,
            project=words,
            path=words,
            models=(words,),
            turns=tuple(
                replace(
                    turn,
                    prompt=words,
                    final_text=words,
                    end_detail=words,
                    coaching=words,
                    notice=words,
                    evidence=(words,),
                    claims=tuple(replace(c, text=words, quote=words, because=words) for c in turn.claims),
                )
                for turn in session.turns
            ),
            loops=tuple(replace(loop, call=words, message=words, rule=words, coaching=words) for loop in session.loops),
        )
        for place, session in enumerate(result.sessions)
    )
    files = (Unreadable(path=words, why=words, size=3),)
    filters = replace(result.filters, project=words, agents=(words,))
    return replace(result, sessions=sessions, unreadable=files, filters=filters, summary=summarise(sessions))


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_text_adds_no_tag_and_no_attribute(samples: Audit, words: str) -> None:
    clean = poisoned(samples, "word")
    expected = Tags(page(clean, made_at=MADE))
    found = Tags(page(poisoned(samples, words), made_at=MADE))
    assert [(tag, sorted(attrs)) for tag, attrs in found.tags] == [(tag, sorted(attrs)) for tag, attrs in expected.tags]
    assert found.mistakes == []


def test_hostile_text_is_shown_with_its_acting_characters_as_signs(samples: Audit) -> None:
    text = page(poisoned(samples, "\x1b[2J\u202etxt"), made_at=MADE)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "␛[2J⟨U+202E⟩txt" in text


def test_nothing_is_loaded_and_only_the_two_named_blocks_may_act(samples: Audit) -> None:
    text = page(samples, made_at=MADE)
    found = Tags(text)
    assert {tag for tag, _ in found.tags} & {"link", "img", "iframe", "object", "embed", "form", "base"} == set()
    for _, attributes in found.tags:
        assert not any(name.startswith("on") or name in {"style", "src", "srcset"} for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(a["content"] or "" for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for block in ("style", "script"):
        inside = re.findall(rf"<{block}>(.*?)</{block}>", text, re.DOTALL)
        assert len(inside) == 1
        assert f"{block}-src 'sha256-{b64encode(sha256(inside[0].encode()).digest()).decode()}'" in policy
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text


def test_the_page_can_be_walked_by_landmarks_headings_and_captions(samples: Audit) -> None:
    found = Tags(page(samples, made_at=MADE))
    names = [tag for tag, _ in found.tags]
    assert names.count("main") == names.count("h1") == names.count("header") == names.count("footer") == 1
    assert names.count("table") == names.count("caption") > 0
    levels = [int(name[1]) for name in names if re.fullmatch(r"h[1-6]", name)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in found.tags:
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        if labelled := attributes.get("aria-labelledby"):
            assert set(labelled.split()) <= set(ids)
        if tag == "a":
            assert (attributes["href"] or "")[1:] in ids
        if tag == "html":
            assert attributes["lang"] == "en"


def test_the_numbers_the_claims_and_the_coach_are_on_the_page(samples: Audit) -> None:
    words = " ".join(Tags(page(samples, made_at=MADE)).words)
    total = samples.summary.total
    assert f"{total.unproved + total.contradicted} of {total.completions}" in words
    for ranked in samples.summary.worst:
        assert samples.sessions[ranked.session].id in words
    assert "All 4 tests pass, so the fix is complete and ready to merge." in words
    assert "[System Coach]" in words


def test_an_audit_of_nothing_has_a_page() -> None:
    empty = audit(choose([SAMPLES], filters=None), filters=None)
    nothing = replace(empty, sessions=(), unreadable=(), summary=summarise(()))
    found = Tags(page(nothing, made_at=MADE))
    assert found.mistakes == []
    assert "Nothing to audit yet." in found.words


def test_time_is_drawn_by_day_week_or_month_and_one_wrong_clock_does_not_stretch_it() -> None:
    first = MADE.date()
    days = [Day(day=first + timedelta(days=n), sessions=2, with_findings=1) for n in range(30)]
    assert "by day: 60 sessions, 30 of them" in columns("Sessions", days)
    assert "by week" in columns("Sessions", [*days, Day(day=first + timedelta(days=200), sessions=1, with_findings=0)])
    old = columns("Sessions", [Day(day=datetime(1970, 1, 1, tzinfo=UTC).date(), sessions=1, with_findings=0), *days])
    assert "by month" in old
    assert old.count("<rect") < 10


def test_the_page_is_written_whole_with_ordinary_rights(samples: Audit, tmp_path: Path) -> None:
    target = tmp_path / "audit.html"
    target.write_text("old")
    write_page(samples, target, made_at=MADE)
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert stat.S_IMODE(target.stat().st_mode) & 0o400
    assert [path.name for path in tmp_path.iterdir()] == ["audit.html"]


def test_a_page_that_cannot_be_written_is_an_error_with_advice(samples: Audit, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        write_page(samples, tmp_path / "missing" / "audit.html", made_at=MADE)
    with pytest.raises(InputError, match="is a folder"):
        write_page(samples, tmp_path, made_at=MADE)
    assert list(tmp_path.iterdir()) == []
