"""What is added to a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from touchline.agents.prompts import (
    new_marker,
    prepared,
    with_completion,
    with_folders,
    with_read_only,
    with_skill,
    with_working_directory,
)
from touchline.errors import InputError
from touchline.supervision.contract import Contract, Token, has_marker

WORK = Path("/work/place")


def test_markers_are_unique_and_one_line() -> None:
    markers = {new_marker() for _ in range(1000)}
    assert len(markers) == 1000
    assert all(" " not in marker and marker.strip() == marker for marker in markers)


def test_the_marker_in_the_prompt_is_the_contracts_own() -> None:
    marker = new_marker()
    prompt = with_completion("Do it.", Contract(marker=marker))
    assert prompt.startswith("Do it.")
    assert has_marker(prompt, marker), "an agent that copies the line as it stands writes a valid marker"
    assert prompt.count(marker) == 1


def test_tokens_are_named_with_their_kinds_and_never_with_a_value() -> None:
    contract = Contract(
        tokens=(
            Token(name="plan_path", type="path"),
            Token(name="verdict", type="verdict", choices=("pass", "fail")),
            Token(name="count", type="number"),
        )
    )
    prompt = with_completion("Do it.", contract)
    for line in ("plan_path = <absolute path>", "verdict = <pass or fail>", "count = <number>"):
        assert line in prompt.splitlines()


def test_a_contract_with_a_schema_alone_adds_nothing() -> None:
    assert with_completion("Do it.", Contract(schema={"type": "object"})) == "Do it."
    assert with_completion("Do it.", None) == "Do it."


def test_the_skill_comes_first_and_once() -> None:
    assert with_skill("Do it.", "review") == "/review Do it."
    assert with_skill("Do it.", "/review") == "/review Do it."
    assert with_skill("/other Do it.", "review") == "/other Do it."
    assert with_skill("Do it.", None) == "Do it."
    assert prepared("Do it.", workspace=WORK, skill="review").startswith("/review Do it.")
    for wrong in ("/", "two words"):
        with pytest.raises(InputError):
            with_skill("Do it.", wrong)


def test_the_working_directory_and_folders_are_named() -> None:
    assert str(WORK) in with_working_directory("Do it.", WORK)
    assert "/a, /b" in with_folders("Do it.", (Path("/a"), Path("/b")))
    assert with_folders("Do it.", ()) == "Do it."
    assert "reading only" in with_read_only("Do it.")


def test_all_of_it_in_order() -> None:
    marker = new_marker()
    prompt = prepared(
        "Do it {as} is.", workspace=WORK, folders=(Path("/a"),), read_only=True, contract=Contract(marker=marker)
    )
    places = [prompt.index(words) for words in ("Do it {as} is.", str(WORK), "/a", "reading only", marker)]
    assert places == sorted(places)
