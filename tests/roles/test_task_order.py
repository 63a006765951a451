"""Tasks in order, in waves, and with the gotchas that concern them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.errors import InputError, SpecError
from touchline.roles.specification.gotchas import PER_TASK, Gotcha, gotchas_for
from touchline.roles.specification.order import levels, ordered
from touchline.roles.specification.task import Task, TaskAction, repository_path


def task(id: str, *needs: str, phase: str = "api", line: int = 1, file: str = "a.py", priority: int = 0) -> Task:
    return Task(id=id, phase=phase, action=TaskAction.UPDATE, file=file, depends_on=needs, line=line, priority=priority)


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [t.id for t in tasks]


def test_dependencies_outrank_phases() -> None:
    tasks = [task("A", "B", phase="database"), task("B", phase="tests"), task("C", phase="types")]
    assert ids(ordered(tasks)) == ["C", "B", "A"]


def test_phases_break_ties_and_an_unknown_one_is_last() -> None:
    tasks = [task(phase, phase=phase) for phase in ("tests", "odd", "ui", "api", "services", "queries", "types")]
    tasks.append(task("database", phase="database"))
    assert ids(ordered(tasks)) == ["database", "types", "queries", "services", "api", "ui", "tests", "odd"]


def test_priority_goes_before_the_order_given() -> None:
    assert ids(ordered([task("A"), task("B", priority=5)])) == ["B", "A"]


def test_the_order_does_not_depend_on_how_the_tasks_were_listed() -> None:
    tasks = [task("A", phase="types"), task("B", "A", phase="api"), task("C", "A", phase="ui"), task("D", "B", "C")]
    for listed in permutations(tasks):
        assert ids(ordered(listed)) == ["A", "B", "C", "D"]


@given(st.data())
def test_every_task_comes_after_what_it_needs(data: st.DataObject) -> None:
    names = [f"T-{n}" for n in range(data.draw(st.integers(1, 12)))]
    tasks = [
        task(name, *data.draw(st.sets(st.sampled_from(names[:n]), max_size=3) if n else st.just(set())))
        for n, name in enumerate(names)
    ]
    done: set[str] = set()
    for one in ordered(data.draw(st.permutations(tasks))):
        assert set(one.depends_on) <= done
        done.add(one.id)
    assert done == set(names)
    assert sum(map(len, levels(tasks))) == len(tasks)


def test_a_cycle_is_named_with_file_and_line() -> None:
    tasks = [task("A", "C", line=3), task("B", "A", line=9), task("C", "B", line=15), task("D", line=20)]
    with pytest.raises(SpecError, match=r"tasks\.md:3: these tasks wait for each other: A -> C -> B -> A"):
        ordered(tasks)


def test_a_task_that_waits_for_itself_is_a_cycle() -> None:
    with pytest.raises(SpecError, match="A -> A"):
        ordered([task("A", "A")])


def test_an_unknown_dependency_and_a_double_id_are_named() -> None:
    with pytest.raises(SpecError, match=r"plan/tasks\.md:7: A depends on 'X', which is no task"):
        ordered([task("A", "X", line=7)], file="plan/tasks.md")
    with pytest.raises(SpecError, match=r"tasks\.md:8: the id A is used twice \(first in line 2\)"):
        ordered([task("A", line=2), task("A", line=8)])


def test_waves_hold_what_can_run_side_by_side() -> None:
    tasks = [task("A"), task("B"), task("C", "A"), task("D", "A", "B"), task("E", "D")]
    assert [ids(wave) for wave in levels(tasks)] == [["A", "B"], ["C", "D"], ["E"]]


def test_gotchas_match_by_file_and_action_exact_file_first() -> None:
    one = task("A", file="src/api/users.py")
    known = [
        Gotcha(text="any file", confidence=0.99),
        Gotcha(text="other file", pattern="*.sql", confidence=1.0),
        Gotcha(text="this file", pattern="src/api/users.py", confidence=0.7),
        Gotcha(text="by name", pattern="users.*", confidence=0.8),
        Gotcha(text="other action", action="CREATE", confidence=1.0),
        Gotcha(text="this action", action="update", confidence=0.9),
        Gotcha(text="Any   FILE", confidence=0.5),
        Gotcha(text="not sure", confidence=0.2),
    ]
    found = gotchas_for(one, known, at_least=0.6)
    assert [g.text for g in found] == ["this file", "any file", "this action", "by name"]


def test_a_handful_is_enough_and_is_taken_after_filtering() -> None:
    many = [Gotcha(text=f"sql {n}", pattern="*.sql", confidence=1.0) for n in range(9)]
    many += [Gotcha(text=f"py {n}", pattern="*.py", confidence=0.5) for n in range(9)]
    assert [g.text for g in gotchas_for(task("A"), many)] == [f"py {n}" for n in range(PER_TASK)]


@pytest.mark.parametrize(
    "path", ["../x.py", "/etc/passwd", "a/../../b", "~/x", "C:/x", "src/.git/hooks/x", "a\0b", "\\x"]
)
def test_a_path_out_of_the_repository_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="not inside the repository"):
        repository_path(path)


def test_a_path_inside_is_made_plain() -> None:
    assert repository_path("./src//a.py") == "src/a.py"
    assert repository_path("src\\win.py") == "src/win.py"
