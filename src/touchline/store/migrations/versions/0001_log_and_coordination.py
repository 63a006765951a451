"""The event log, deliveries, coordination and what stands alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from touchline.store.columns import Json, Moment

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=80), nullable=False),
        sa.Column("severity", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
    )
    op.create_index(op.f("ix_alerts_kind"), "alerts", ["kind"], unique=False)
    op.create_index(op.f("ix_alerts_status"), "alerts", ["status"], unique=False)
    op.create_table(
        "change_requests",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("resource", sa.String(length=400), nullable=False),
        sa.Column("requester", sa.String(length=200), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("change", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("answer", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_change_requests")),
    )
    op.create_index(op.f("ix_change_requests_resource"), "change_requests", ["resource"], unique=False)
    op.create_index(op.f("ix_change_requests_status"), "change_requests", ["status"], unique=False)
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("value", BIG, server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_counters")),
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("subscription", sa.String(length=80), nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letters")),
        sa.UniqueConstraint("subscription", "seq", name=op.f("uq_dead_letters_subscription_seq")),
    )
    op.create_index(op.f("ix_dead_letters_subscription"), "dead_letters", ["subscription"], unique=False)
    op.create_table(
        "events",
        sa.Column("seq", BIG, autoincrement=False, nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("source", sa.String(length=80), nullable=False),
        sa.Column("idea_id", sa.String(length=80), nullable=True),
        sa.Column("spec_id", sa.String(length=80), nullable=True),
        sa.Column("build_id", sa.String(length=80), nullable=True),
        sa.Column("task_id", sa.String(length=80), nullable=True),
        sa.Column("session_id", sa.String(length=80), nullable=True),
        sa.Column("cause", BIG, nullable=True),
        sa.Column("payload", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_build_id"), "events", ["build_id"], unique=False)
    op.create_index(op.f("ix_events_session_id"), "events", ["session_id"], unique=False)
    op.create_index(op.f("ix_events_task_id"), "events", ["task_id"], unique=False)
    op.create_index(op.f("ix_events_type"), "events", ["type"], unique=False)
    op.create_table(
        "heartbeats",
        sa.Column("component", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=80), nullable=False),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("pid", sa.Integer(), server_default="0", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("detail", Json(), server_default="{}", nullable=False),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("beat_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("component", name=op.f("pk_heartbeats")),
    )
    op.create_index(op.f("ix_heartbeats_beat_at"), "heartbeats", ["beat_at"], unique=False)
    op.create_index(op.f("ix_heartbeats_status"), "heartbeats", ["status"], unique=False)
    op.create_table(
        "leases",
        sa.Column("resource", sa.String(length=400), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=False),
        sa.Column("token", BIG, nullable=False),
        sa.Column("granted_at", Moment(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("resource", name=op.f("pk_leases")),
    )
    op.create_index(op.f("ix_leases_expires_at"), "leases", ["expires_at"], unique=False)
    op.create_index(op.f("ix_leases_holder"), "leases", ["holder"], unique=False)
    op.create_table(
        "meta",
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
    op.create_table(
        "metrics",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("unit", sa.String(length=80), nullable=True),
        sa.Column("scope", Json(), server_default="{}", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metrics")),
    )
    op.create_index(op.f("ix_metrics_name"), "metrics", ["name"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("destination", sa.Text(), server_default="", nullable=False),
        sa.Column("body", Json(), server_default="{}", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_at", Moment(), nullable=False),
        sa.Column("claimed_by", sa.String(length=80), nullable=True),
        sa.Column("claimed_until", Moment(), nullable=True),
        sa.Column("last_error", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("sent_at", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("key", name=op.f("uq_outbox_key")),
    )
    op.create_index(op.f("ix_outbox_next_at"), "outbox", ["next_at"], unique=False)
    op.create_index(op.f("ix_outbox_status"), "outbox", ["status"], unique=False)
    op.create_table(
        "owners",
        sa.Column("resource", sa.String(length=400), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("since", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("resource", name=op.f("pk_owners")),
    )
    op.create_index(op.f("ix_owners_owner"), "owners", ["owner"], unique=False)
    op.create_table(
        "preferences",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("value", sa.Text(), server_default="", nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("times", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preferences")),
        sa.UniqueConstraint("key", name=op.f("uq_preferences_key")),
    )
    op.create_table(
        "step_results",
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("result", Json(), server_default="null", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_step_results")),
    )
    op.create_index(op.f("ix_step_results_at"), "step_results", ["at"], unique=False)
    op.create_table(
        "subscriptions",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("patterns", Json(), server_default="[]", nullable=False),
        sa.Column("sources", Json(), server_default="[]", nullable=False),
        sa.Column("cursor", BIG, server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), server_default="", nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_subscriptions")),
    )
    op.create_table(
        "wait_cycles",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("members", Json(), server_default="[]", nullable=False),
        sa.Column("found_at", Moment(), nullable=False),
        sa.Column("cleared_at", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_wait_cycles")),
    )
    op.create_table(
        "waits",
        sa.Column("waiter", sa.String(length=200), nullable=False),
        sa.Column("resource", sa.String(length=400), nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("since", Moment(), nullable=False),
        sa.Column("woken_at", Moment(), nullable=True),
        sa.Column("expires_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("waiter", "resource", name=op.f("pk_waits")),
    )
    op.create_index(op.f("ix_waits_expires_at"), "waits", ["expires_at"], unique=False)
