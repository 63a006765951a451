"""Which statement is it? The ones that every turn needs, put together once: building them anew was a tenth of its cost.

Values are handed over beside the statement, columns by their names. What a row is found by is named `at_<column>`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import ReturningUpdate


@cache
def inserting(table: sa.Table) -> sa.Insert:
    """A new row; its values are given with it."""
    return table.insert()


@cache
def updating(table: sa.Table, *by: str) -> sa.Update:
    """Rows whose columns `by` equal `at_<column>`; what they become is given with it."""
    return table.update().where(*(table.c[name] == sa.bindparam(f"at_{name}") for name in by))


@cache
def reading(column: sa.Column[Any], by: sa.Column[Any]) -> sa.Select[Any]:
    """One column of the row whose column `by` equals `at_<column>`."""
    return sa.select(column).where(by == sa.bindparam(f"at_{by.name}"))


@cache
def counting(column: sa.Column[Any], by: sa.Column[Any]) -> ReturningUpdate[Any]:
    """Add `more` to a counter of the row whose column `by` equals `at_<column>`, and return what it is then."""
    row = column.table.update().where(by == sa.bindparam(f"at_{by.name}"))
    return row.values({column.name: column + sa.bindparam("more")}).returning(column)
