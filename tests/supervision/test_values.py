"""A value must be to everybody what the frozen, slotted, keyword-only dataclass of the same fields is."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import touchline
from touchline.supervision.facts import Call, Turn, Usage
from touchline.supervision.values import (
    BY_HAND,
    Literal,
    Value,
    assert_never,
    columns_of,
    field,
    from_columns,
    names_of,
    replace,
)

Colour = Literal["red", "green"]


class Point(Value):
    """A place."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    within: Point | None = None

    @property
    def sum(self) -> int:
        return self.x + self.y


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A place."""

    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)
    within: Twin | None = None

    @property
    def sum(self) -> int:
        return self.x + self.y


fields_given = st.fixed_dictionaries(
    {"x": st.integers()}, optional={"y": st.integers(), "tags": st.lists(st.text(max_size=3), max_size=3)}
)


def both(given: dict[str, Any]) -> tuple[Point, Twin]:
    return Point(**given, within=Point(x=1)), Twin(**given, within=Twin(x=1))


@given(one=fields_given, other=fields_given)
def test_it_reads_prints_and_compares_as_a_dataclass_does(one: dict[str, Any], other: dict[str, Any]) -> None:
    (point, twin), (point2, twin2) = both(one), both(other)
    assert repr(point) == repr(twin).replace("Twin", "Point")
    assert (point == point2) is (twin == twin2)
    assert (point.x, point.y, point.tags, point.sum) == (twin.x, twin.y, twin.tags, twin.sum)
    assert dataclasses.asdict(point) == dataclasses.asdict(twin)
    assert replace(point, x=7) == dataclasses.replace(point, x=7) != replace(point, x=8)
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == copy.copy(point) == point


@given(many=st.lists(fields_given, max_size=4))
def test_many_are_told_by_columns_and_made_of_them_again(many: list[dict[str, Any]]) -> None:
    points = tuple(Point(**each) for each in many)
    columns = columns_of(Point, points)
    assert columns["x"] == [each["x"] for each in many]
    assert from_columns(Point, columns) == points


@pytest.mark.parametrize("columns", [{}, {"input": [1]}, {**columns_of(Usage, (Usage(),)), "output": [1, 2]}])
def test_columns_that_are_not_of_the_class_make_no_values(columns: dict[str, list[Any]]) -> None:
    with pytest.raises(ValueError, match="not the fields of Usage"):
        from_columns(Usage, columns)


@given(x=st.integers(), y=st.integers())
def test_equal_values_have_equal_hashes(x: int, y: int) -> None:
    usages = Usage(input=x, output=y), Usage(input=x, output=y)
    assert usages[0] == usages[1]
    assert hash(usages[0]) == hash(usages[1])
    assert len({*usages, Usage(input=x + 1)}) == 2


def test_dataclasses_find_their_fields() -> None:
    assert dataclasses.is_dataclass(Point)
    shown = [(f.name, f.default, f.kw_only) for f in dataclasses.fields(Point)]
    assert shown == [(f.name, f.default, f.kw_only) for f in dataclasses.fields(Twin)]
    assert [f.name for f in dataclasses.fields(Turn)] == list(names_of(Turn)) == list(names_of(Turn(cli="claude")))
    assert names_of(Twin) == names_of(3) == ()
    assert Point.__match_args__ == Twin.__match_args__  # type: ignore[attr-defined]
    assert Point.__doc__ == "A place."


def test_the_signature_is_that_of_the_fields() -> None:
    mine, theirs = inspect.signature(Point).parameters, inspect.signature(Twin).parameters
    assert [(p.name, p.kind, p.annotation.replace("Twin", "Point")) for p in theirs.values()] == [
        (p.name, p.kind, p.annotation) for p in mine.values()
    ]
    with pytest.raises(TypeError):
        Point(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]


def test_a_default_is_made_anew_for_each() -> None:
    assert Point(x=1).tags is not Point(x=1).tags
    assert Point(x=1, tags=["a"]).tags == ["a"]


def test_nothing_can_be_changed() -> None:
    point = Point(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.z = 2  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")


def test_a_value_stands_alone() -> None:
    with pytest.raises(TypeError, match="stands alone"):

        class More(Point):
            z: int


def test_words_can_be_listed_and_what_cannot_be_is_told() -> None:
    assert get_args(Colour) == ("red", "green")
    with pytest.raises(AssertionError, match="'blue'"):
        assert_never("blue")  # type: ignore[arg-type]


def test_the_facts_load_none_of_what_makes_dataclasses_dear() -> None:
    program = f"""
import sys
import threading
sys.path.append({str(Path(touchline.__file__).parents[1])!r})
from touchline.supervision.facts import Call
assert repr(Call(id="1", tool="t", args={{}})) == {repr(Call(id="1", tool="t", args={}))!r}
print(sorted({{"dataclasses", "inspect", "typing", "re", "json"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_made_by_hand_or_compiled_it_is_the_same_value() -> None:
    class Thing(Value):
        name: str
        count: int = 0
        parts: tuple[str, ...] = field(default_factory=tuple)

    by_hand = Thing(name="a", count=2)
    told = str(inspect.signature(Thing))
    many = [Thing(name="a", count=2) for _ in range(3 * BY_HAND)]
    assert by_hand == many[-1]
    assert (many[-1].parts, many[-1].count) == ((), 2)
    assert Thing.__init__.__code__.co_kwonlyargcount == 3, "who makes many gets the compiled one"
    assert str(inspect.signature(Thing)) == told
    assert list(inspect.signature(Thing).parameters) == ["name", "count", "parts"]


@pytest.mark.parametrize("wrong", [{}, {"count": 1}, {"name": "a", "odd": 1}])
def test_what_does_not_fit_is_refused_by_the_first_value_too(wrong: dict[str, Any]) -> None:
    class Thing(Value):
        name: str
        count: int = 0

    with pytest.raises(TypeError, match="keyword"):
        Thing(**wrong)
    with pytest.raises(TypeError, match="positional"):
        Thing("a")  # type: ignore[call-arg]


def test_threads_that_make_the_first_value_of_a_class_at_once_all_get_one() -> None:
    """Two sessions are judged at a time, and both need a kind of value that nobody made before."""
    crowd, faults = 4, []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(150):

            class Thing(Value):
                name: str
                count: int = 0

            together = threading.Barrier(crowd)

            def make(made: Any = Thing, together: threading.Barrier = together) -> None:
                together.wait()
                try:
                    assert made(name="a") == made(name="a", count=0)
                    assert hash(made(name="a")) == hash(made(name="a"))
                except BaseException as fault:
                    faults.append(repr(fault))

            threads = [threading.Thread(target=make) for _ in range(crowd)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert faults == []
