"""Success criteria are quoted only when they can be read with certainty."""

from __future__ import annotations

import pytest

from touchline.supervision.criteria import success_criteria

PLAN = """# Search

## Goal
Find things.

## Success Criteria
- [ ] query under 50 ms
- [ ] empty query is refused

### How measured
By the benchmark.

## Risks
None.
"""


def test_the_section_is_quoted_verbatim_with_its_subsections() -> None:
    assert success_criteria(PLAN) == (
        "- [ ] query under 50 ms\n- [ ] empty query is refused\n\n### How measured\nBy the benchmark."
    )


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "# Success Criteria\n- level one\n",
        "### Success Criteria\n- level three\n",
        "## Success criteria met last year\n- another title\n",
        "## Success Criteria\n\n## Next\ntext\n",
        "## Success Criteria\n   \n",
        "```\n## Success Criteria\n- inside a fence\n```\n",
        "## Success Criteria\n- one\n\n## Success Criteria\n- two\n",
        "## Success Criteria\n- one\n```\nnever closed\n",
    ],
    ids=[
        "empty file", "level 1", "level 3", "longer title", "empty section", "blank section", "fenced", "twice",
        "open fence",
    ],
)  # fmt: skip
def test_anything_uncertain_gives_none(plan: str) -> None:
    assert success_criteria(plan) is None


def test_a_heading_inside_a_fence_does_not_end_the_section() -> None:
    plan = "## Success Criteria\n- a\n```md\n## Not a heading\n```\n- b\n## End\n"
    assert success_criteria(plan) == "- a\n```md\n## Not a heading\n```\n- b"


def test_long_criteria_are_cut_and_say_so() -> None:
    quoted = success_criteria("## Success Criteria\n" + "x" * 900, limit=500)
    assert quoted is not None
    assert len(quoted) == 500
    assert quoted.endswith("…")


def test_closing_hashes_and_case_do_not_matter() -> None:
    assert success_criteria("## SUCCESS CRITERIA ##\n- a\n") == "- a"
