"""What must every task of a build know of the specification? Parallel tasks see nothing of each other's work, so what
they have in common is kept with the build as it was approved, and told to each agent and each reviewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from touchline.roles.build.prompting import text
from touchline.roles.specification.gotchas import Gotcha, gotchas_for
from touchline.roles.specification.spec import Spec
from touchline.roles.specification.task import Task

SURE = 0.6
"""Lessons below this confidence are not told to an agent."""


def agreement_of(spec: Spec) -> dict[str, str]:
    """Plain values, as the build keeps them: what the product is about, and what holds for all tasks."""
    avoided = (f"{each.path}: {each.purpose}" for each in spec.avoided_files)
    parts = (
        ("contract_api", spec.api),
        ("contract_data", spec.data_models),
        ("contract_quality", _listed(spec.quality)),
        ("contract_avoided", _listed(avoided)),
        ("contract_out_of_scope", _listed(spec.out_of_scope)),
    )
    told = [text(name, words=words.strip()) for name, words in parts if words.strip()]
    return {"objective": spec.objective.strip(), "contract": "\n\n".join(told)}


def with_lessons(tasks: Sequence[Task], spec: Spec, lessons: Sequence[Gotcha]) -> tuple[Task, ...]:
    """The tasks with the pitfalls that concern each, their own first. What people wrote into the specification is no
    lesson with a pattern, and concerns all of them."""
    known = {_plain(each.text) for each in lessons}
    added = [Gotcha(text=each) for each in spec.gotchas if _plain(each) not in known]
    return tuple(_with(task, gotchas_for(task, [*added, *lessons], at_least=SURE)) for task in tasks)


def _with(task: Task, found: Iterable[Gotcha]) -> Task:
    mine = {_plain(each) for each in task.gotchas}
    return replace(task, gotchas=(*task.gotchas, *(each.text for each in found if _plain(each.text) not in mine)))


def _plain(words: str) -> str:
    return " ".join(words.split()).casefold()


def _listed(words: Iterable[str]) -> str:
    return "\n".join(f"- {each}" for each in words)
