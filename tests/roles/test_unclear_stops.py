"""A stop that the rules cannot read goes to the architect before it goes to a person; nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.roles.test_review_scenario import model, paid
from tests.sessions.house import House, Story, opened

from touchline.roles.build import architecting
from touchline.roles.review import architect
from touchline.sessions.reading import READERS

pytestmark = pytest.mark.timeout(120)
UNCLEAR = "Configuration notes."
SCRIPT = f"""
turns:
  - {{text: {UNCLEAR}}}
  - calls:
      - {{write: "${{workspace}}/app.py", content: "def add(a, b):\\n    return a + b\\n"}}
      - {{shell: python3 -m unittest -q}}
  - {{text: "add() is implemented in app.py. The tests pass: 1 test, OK."}}
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("house")) as made:
        yield made


def says(kind: str, confidence: float = 0.9, **more: Any) -> dict[str, Any]:
    answer = {"kind": kind, "confidence": confidence, "missing": [], "quote": "notes", **more}
    return {"question": "classify_stop", "when": [UNCLEAR], "answer": answer}


def run(house: House, folder: Path, *entries: dict[str, Any], script: str = SCRIPT, **asked: Any) -> Story:
    line = model(folder, *entries)
    return house.run(script, reviewer="architect", reviewer_model=line, **asked)


def test_the_architect_reads_what_the_rules_cannot(house: House, tmp_path: Path) -> None:
    story = run(house, tmp_path, says("status"))
    assert story.actions[-1] == "deliver:completed", story.told()
    assert story.session.delivery == "accepted"
    assert story.of("question.asked") == [], "nobody was disturbed"
    assert paid(house, story) == ["supervision:classify_stop"], "once, and not for the clear stop after it"


def test_a_completion_he_sees_must_be_proved_all_the_same(house: House, tmp_path: Path) -> None:
    story = run(house, tmp_path, says("completion"), turns=1)
    assert (story.turns[0].stop_kind, story.session.delivery) == ("status", "unresolved"), story.told()
    assert paid(house, story) == ["supervision:classify_stop"]


def test_where_a_check_decides_he_is_not_asked(house: House, tmp_path: Path) -> None:
    story = run(house, tmp_path, says("completion"), check="false", turns=1)
    assert story.session.delivery == "unresolved", story.told()
    assert [each["verified"] for each in story.of("check.run")] == [False]
    assert paid(house, story) == []


def test_a_completion_that_lacks_its_proof_is_none(house: House, tmp_path: Path) -> None:
    story = run(house, tmp_path, says("completion", missing=["a run of the tests"]), turns=1)
    assert (story.turns[0].stop_kind, story.session.delivery) == ("status", "unresolved"), story.told()


@pytest.mark.parametrize(
    "entry",
    [says("status", 0.2), says("error"), says("status", quote="not in it"), {"question": "other", "answer": {}}],
    ids=["unsure himself", "an error", "a wrong quote", "away"],
)
def test_else_a_person_sees_it(house: House, tmp_path: Path, entry: dict[str, Any]) -> None:
    story = run(house, tmp_path, entry)
    assert (story.session.status, story.session.reason) == ("waiting", "unsure"), story.told()


def test_without_a_reviewer_nobody_is_asked(house: House) -> None:
    story = house.run(SCRIPT)
    assert (story.session.status, story.session.reason) == ("waiting", "unsure"), story.told()
    assert paid(house, story) == []


def test_a_builds_architect_reads_them_too() -> None:
    assert READERS[architecting.NAME] is READERS[architect.NAME] is architect.read_stop
