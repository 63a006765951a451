"""Where is written what asking a model cost? In the table of the agents' own usage, as the supervision's part of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from touchline.store.columns import new_id, now
from touchline.store.tables import usage

if TYPE_CHECKING:
    from touchline.models.asking import Answer

PURPOSE = "supervision:"
"""How the purpose of such a row begins; the question's name follows."""
_WORD = 80


def book(connection: sa.Connection, answers: Iterable[tuple[str, Answer[Any]]], **ids: str | None) -> None:
    """A row for each question that was really asked; `ids` are such as `session_id` and `build_id`."""
    for question, answer in answers:
        if answer.cached:
            continue
        connection.execute(
            usage.insert().values(
                id=new_id("usage"),
                model=answer.model[:_WORD],
                purpose=f"{PURPOSE}{question}"[:_WORD],
                input=answer.usage.input,
                output=answer.usage.output,
                cache_read=answer.usage.cache_read,
                cache_write=answer.usage.cache_write,
                cost_usd=answer.cost_usd,
                at=now(),
                **ids,
            )
        )
