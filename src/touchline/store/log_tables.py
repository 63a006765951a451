"""Where do events and deliveries stand? The log, its readers' cursors, what could not be delivered, and the outbox."""

from __future__ import annotations

import sqlalchemy as sa

from touchline.store.schema import (
    BIG,
    at_column,
    count_column,
    json_column,
    own_id,
    table,
    text_column,
    word_column,
)

meta = table("meta", sa.Column("key", sa.String(80), primary_key=True), text_column("value"))

# The event log and what delivers from it.
events = table(
    "events",
    sa.Column("seq", BIG, primary_key=True, autoincrement=False),  # `append` gives the numbers, without a gap
    at_column("at", required=True),
    word_column("type", index=True),
    count_column("version", 1),
    word_column("source"),
    word_column("idea_id", required=False),
    word_column("spec_id", required=False),
    word_column("build_id", required=False, index=True),
    word_column("task_id", required=False, index=True),
    word_column("session_id", required=False, index=True),
    sa.Column("cause", BIG),
    text_column("payload", "{}"),
)
subscriptions = table(
    "subscriptions",
    sa.Column("name", sa.String(80), primary_key=True),
    json_column("patterns", "[]"),
    json_column("sources", "[]"),
    sa.Column("cursor", BIG, nullable=False, server_default="0"),
    count_column("failures"),
    text_column("last_error"),
    at_column("updated_at", required=True),
)
dead_letters = table(
    "dead_letters",
    own_id(),
    word_column("subscription", index=True),
    sa.Column("seq", BIG, nullable=False),
    count_column("failures"),
    text_column("reason"),
    at_column("at", required=True),
    sa.UniqueConstraint("subscription", "seq"),
)
outbox = table(
    "outbox",
    own_id(),
    sa.Column("key", sa.String(200), nullable=False, unique=True),
    word_column("channel"),
    text_column("destination"),
    json_column("body"),
    word_column("status", index=True),
    count_column("attempts"),
    at_column("next_at", required=True, index=True),
    word_column("claimed_by", required=False),
    at_column("claimed_until"),
    text_column("last_error"),
    at_column("created_at", required=True),
    at_column("sent_at"),
)
# What the steps of durable workflows wrote here, kept with the writing: a step that is repeated finds its result.
step_results = table(
    "step_results",
    sa.Column("key", sa.String(400), primary_key=True),
    json_column("result", "null"),
    at_column("at", required=True, index=True),
)
counters = table(
    "counters",
    sa.Column("name", sa.String(120), primary_key=True),
    sa.Column("value", BIG, nullable=False, server_default="0"),
)
