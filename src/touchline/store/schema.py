"""How is a table put together? The metadata, and the few kinds of column that all tables are made of."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from touchline.store.columns import Json, Moment

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def own_id() -> sa.Column[str]:
    return sa.Column("id", sa.String(80), primary_key=True)


def refers_to(table: str, *, name: str | None = None, required: bool = False) -> sa.Column[str]:
    column = name or f"{table.removesuffix('s')}_id"
    return sa.Column(column, sa.String(80), sa.ForeignKey(f"{table}.id"), nullable=not required, index=True)


def word_column(name: str, *, required: bool = True, index: bool = False, size: int = 80) -> sa.Column[str]:
    return sa.Column(name, sa.String(size), nullable=not required, index=index)


def text_column(name: str, default: str | None = "") -> sa.Column[str]:
    if default is None:
        return sa.Column(name, sa.Text)
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def count_column(name: str, default: int = 0) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=str(default))


def flag_column(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(create_constraint=False), nullable=False, server_default=sa.false())


def number_column(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Float)


def json_column(name: str, default: str = "{}") -> sa.Column[Any]:
    return sa.Column(name, Json, nullable=False, server_default=default)


def at_column(name: str, *, required: bool = False, index: bool = False) -> sa.Column[Any]:
    return sa.Column(name, Moment, nullable=not required, index=index)


def table(name: str, *columns: sa.Column[Any] | sa.Constraint | sa.Index) -> sa.Table:
    return sa.Table(name, metadata, *columns)
