"""What a supervised session needs to go on after a crash, and what came of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from touchline.store.columns import Json, Moment

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("asked", "state", "spent", "result"):
        op.add_column("sessions", sa.Column(name, Json(), server_default="{}", nullable=False))
    for name in ("repository", "sandbox_why", "detail"):
        op.add_column("sessions", sa.Column(name, sa.Text(), server_default="", nullable=False))
    for name in ("base_commit", "head_commit", "sandbox", "marker", "question_id", "stop_by", "delivery"):
        op.add_column("sessions", sa.Column(name, sa.String(length=80), nullable=True))
    op.add_column("sessions", sa.Column("runs", sa.Integer(), server_default="1", nullable=False))
    op.add_column("sessions", sa.Column("stop_asked_at", Moment(), nullable=True))
    for name in ("kind", "stopped"):
        op.add_column("turns", sa.Column(name, sa.String(length=80), nullable=True))
    op.add_column("turns", sa.Column("cli_session_id", sa.String(length=200), nullable=True))
    op.add_column("turns", sa.Column("beginnings", sa.Integer(), server_default="1", nullable=False))
    op.add_column("turns", sa.Column("first_call", sa.Integer(), server_default="0", nullable=False))
    for name in ("usage", "check_run"):
        op.add_column("turns", sa.Column(name, Json(), server_default="{}", nullable=False))
    for name in ("cost_usd", "seconds"):
        op.add_column("turns", sa.Column(name, sa.Float(), nullable=True))
