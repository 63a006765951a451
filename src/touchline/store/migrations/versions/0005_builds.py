"""What a build needs to go on after a crash: its workshop, what a person wants of it, and where each coder stands."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from touchline.store.columns import Json

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("settings", "result"):
        op.add_column("builds", sa.Column(name, Json(), server_default="{}", nullable=False))
    for name in ("detail", "workshop"):
        op.add_column("builds", sa.Column(name, sa.Text(), server_default="", nullable=False))
    op.add_column("builds", sa.Column("head_commit", sa.String(length=80), nullable=True))
    op.add_column("builds", sa.Column("wanted", sa.String(length=80), server_default="run", nullable=False))
    op.add_column("builds", sa.Column("runs", sa.Integer(), server_default="1", nullable=False))
    op.add_column("tasks", sa.Column("state", sa.String(length=80), server_default="setup", nullable=False))
    op.add_column("tasks", sa.Column("origin", sa.String(length=80), nullable=True))
    op.add_column("tasks", sa.Column("plan", sa.Text(), server_default="", nullable=False))
    op.add_column("tasks", sa.Column("data", Json(), server_default="{}", nullable=False))
