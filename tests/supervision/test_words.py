"""A word must be to everybody what the member of a `StrEnum` with the same names is."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from enum import StrEnum
from pathlib import Path

import pytest

import touchline
from touchline.supervision.facts import Ended
from touchline.supervision.words import Word


class Colour(Word):
    """What paint has."""

    RED = "red"
    """As a rose."""
    DARK_BLUE = "dark blue"

    @property
    def loud(self) -> bool:
        return self is Colour.RED


class Twin(StrEnum):
    """What paint has."""

    RED = "red"
    DARK_BLUE = "dark blue"


@pytest.mark.parametrize(("word", "twin"), list(zip(Colour, Twin, strict=True)))
def test_a_word_is_what_a_member_is(word: Colour, twin: Twin) -> None:
    assert (word.name, word.value, str(word), f"{word:>12}") == (twin.name, twin.value, str(twin), f"{twin:>12}")
    assert repr(word) == repr(twin).replace("Twin", "Colour")
    assert hash(word) == hash(twin)
    assert word.value == twin
    assert word == twin.value
    assert type(word.value) is str
    assert json.dumps({"a": word, word: 1}) == json.dumps({"a": twin, twin: 1})
    assert isinstance(word, str)
    assert isinstance(word, Colour)


def test_there_is_one_of_each() -> None:
    word = Colour.DARK_BLUE
    assert Colour("dark blue") is Colour["DARK_BLUE"] is Colour(word) is word
    assert copy.copy(word) is copy.deepcopy([word])[0] is pickle.loads(pickle.dumps(word)) is word
    assert (list(Colour), len(Colour), list(Colour.__members__)) == (
        [Colour.RED, word],
        len(Twin),
        list(Twin.__members__),
    )
    assert Colour.RED.loud
    assert not word.loud


def test_another_word_is_none() -> None:
    with pytest.raises(ValueError, match="'green' is not a valid Colour"):
        Colour("green")
    with pytest.raises(KeyError):
        Colour["GREEN"]
    with pytest.raises(AttributeError):
        Colour.RED.value = "blue"  # type: ignore[misc]


def test_it_is_matched_by_name() -> None:
    def said(word: Colour) -> str:
        match word:
            case Colour.RED:
                return "stop"
            case Colour.DARK_BLUE:
                return "go"

    assert [said(word) for word in Colour] == ["stop", "go"]


def test_the_facts_load_without_enum() -> None:
    program = (
        "import sys; sys.path.append(sys.argv[1]); import touchline.supervision.facts; print('enum' in sys.modules)"
    )
    home = str(Path(touchline.__file__).parents[1])
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program, home], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert Ended("finished") is Ended.FINISHED
