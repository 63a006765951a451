"""What a question needs to be answered by anybody, and what a turn reserves before it spends."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from touchline.store.columns import Json, Moment

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    for name, size in (("agent", 200), ("trigger", 80), ("phase", 80), ("build_id", 80)):
        op.add_column("questions", sa.Column(name, sa.String(length=size), nullable=True))
    op.add_column(
        "questions",
        sa.Column("no_free_text", sa.Boolean(create_constraint=False), server_default=sa.false(), nullable=False),
    )
    op.add_column("questions", sa.Column("tags", Json(), server_default="[]", nullable=False))
    op.create_table(
        "reservations",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.String(length=80), nullable=False),
        sa.Column("number", sa.Integer(), server_default="1", nullable=False),
        sa.Column("tokens", BIG, server_default="0", nullable=False),
        sa.Column("usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_reservations_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
        sa.UniqueConstraint("session_id", "number", name=op.f("uq_reservations_session_id_number")),
    )
    for name in ("scope", "session_id", "status"):
        op.create_index(op.f(f"ix_reservations_{name}"), "reservations", [name], unique=False)
