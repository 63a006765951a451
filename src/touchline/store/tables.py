"""Which tables are there? The schema as it is today; `migrations` says how a database gets there.

Ids are text (`columns.new_id`). Statuses are written by `statuses` alone, counters in the same place.
"""

from __future__ import annotations

import sqlalchemy as sa

from touchline.store.schema import (
    BIG,
    at_column,
    count_column,
    flag_column,
    json_column,
    metadata,
    number_column,
    own_id,
    refers_to,
    table,
    text_column,
    word_column,
)

from touchline.store import log_tables  # isort: skip

__all__ = ["log_tables", "metadata"]

# From an idea to tasks.
ideas = table(
    "ideas",
    own_id(),
    text_column("title"),
    word_column("status", index=True),
    word_column("phase"),
    number_column("confidence"),
    word_column("person", required=False),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
messages = table(
    "messages",
    own_id(),
    refers_to("ideas", required=True),
    word_column("role"),
    text_column("text"),
    json_column("signals"),
    at_column("at", required=True),
)
artefacts = table(
    "artefacts",
    own_id(),
    refers_to("ideas", required=True),
    word_column("type"),
    text_column("text"),
    text_column("path", None),
    number_column("confidence"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
specs = table(
    "specs",
    own_id(),
    refers_to("ideas"),
    word_column("status", index=True),
    count_column("version", 1),
    text_column("path"),
    text_column("tasks_path"),
    word_column("approved_by", required=False),
    at_column("approved_at"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
builds = table(
    "builds",
    own_id(),
    refers_to("specs"),
    word_column("status", index=True),
    word_column("reason", required=False),
    text_column("repository"),
    word_column("base_commit", required=False),
    json_column("budget"),
    at_column("started_at"),
    at_column("ended_at"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
tasks = table(
    "tasks",
    own_id(),
    refers_to("specs"),
    refers_to("builds"),
    word_column("key"),
    word_column("phase"),
    word_column("action"),
    text_column("file"),
    text_column("title"),
    word_column("status", index=True),
    word_column("reason", required=False),
    json_column("requirements", "[]"),
    json_column("gotchas", "[]"),
    json_column("validation"),
    json_column("depends_on", "[]"),
    count_column("priority"),
    count_column("position"),
    count_column("attempts"),
    text_column("lesson"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
attempts = table(
    "attempts",
    own_id(),
    refers_to("tasks", required=True),
    count_column("number", 1),
    word_column("status", index=True),
    word_column("reason", required=False),
    at_column("started_at", required=True),
    at_column("ended_at"),
    sa.UniqueConstraint("task_id", "number"),
)

# What an agent did, and what was decided about it.
sessions = table(
    "sessions",
    own_id(),
    refers_to("tasks"),
    refers_to("attempts"),
    word_column("agent"),
    word_column("model", required=False),
    word_column("cli_session_id", required=False, size=200),
    text_column("workspace"),
    text_column("task_text"),
    word_column("phase", required=False),
    word_column("status", index=True),
    word_column("reason", required=False),
    count_column("turns"),
    count_column("continuations"),
    count_column("failures"),
    flag_column("nudged"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
    at_column("ended_at"),
)
turns = table(
    "turns",
    own_id(),
    refers_to("sessions", required=True),
    count_column("number", 1),
    text_column("prompt"),
    word_column("ended", required=False),
    text_column("end_detail"),
    sa.Column("exit_code", sa.Integer),
    word_column("stop_kind", required=False),
    text_column("final_text"),
    text_column("raw_path", None),
    at_column("started_at", required=True),
    at_column("ended_at"),
    sa.UniqueConstraint("session_id", "number"),
)
decisions = table(
    "decisions",
    own_id(),
    refers_to("sessions", required=True),
    refers_to("turns"),
    word_column("action"),
    word_column("reason", index=True),
    text_column("message"),
    json_column("evidence"),
    at_column("at", required=True),
)
coaching = table(
    "coaching",
    own_id(),
    refers_to("sessions", required=True),
    refers_to("decisions"),
    word_column("tier"),
    text_column("text"),
    sa.Column("accepted", sa.Boolean(create_constraint=False)),
    at_column("at", required=True),
)
reviews = table(
    "reviews",
    own_id(),
    refers_to("tasks"),
    refers_to("sessions"),
    word_column("origin"),
    word_column("status", index=True),
    word_column("verdict", required=False),
    text_column("request"),
    text_column("guidance"),
    word_column("reviewer", required=False),
    count_column("streak"),
    at_column("at", required=True),
    at_column("answered_at"),
)

# What a person is asked, and what was learned.
questions = table(
    "questions",
    own_id(),
    word_column("type"),
    word_column("role"),
    word_column("subject", size=200),
    text_column("text"),
    text_column("context"),
    json_column("options", "[]"),
    text_column("default_answer", None),
    flag_column("blocking"),
    flag_column("irreversible"),
    word_column("status", index=True),
    at_column("expires_at", index=True),
    at_column("remind_at"),
    refers_to("ideas"),
    refers_to("tasks"),
    refers_to("sessions"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
answers = table(
    "answers",
    own_id(),
    sa.Column("question_id", sa.String(80), sa.ForeignKey("questions.id"), nullable=False, unique=True),
    text_column("text"),
    word_column("source"),
    word_column("person", required=False),
    at_column("at", required=True),
)
preferences = table(
    "preferences",
    own_id(),
    sa.Column("key", sa.String(200), nullable=False, unique=True),
    text_column("value"),
    number_column("confidence"),
    count_column("times", 1),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
lessons = table(
    "lessons",
    own_id(),
    word_column("kind"),
    text_column("text"),
    text_column("pattern"),
    word_column("action", required=False),
    word_column("status", index=True),
    number_column("confidence"),
    count_column("sightings", 1),
    word_column("superseded_by", required=False),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
lesson_history = table(
    "lesson_history",
    own_id(),
    refers_to("lessons", required=True),
    word_column("event"),
    number_column("confidence"),
    text_column("why"),
    at_column("at", required=True),
)
alerts = table(
    "alerts",
    own_id(),
    word_column("kind", index=True),
    word_column("severity"),
    word_column("subject", size=200),
    text_column("text"),
    word_column("status", index=True),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)

# Who may touch what.
leases = table(
    "leases",
    sa.Column("resource", sa.String(400), primary_key=True),
    word_column("holder", index=True, size=200),
    sa.Column("token", BIG, nullable=False),
    at_column("granted_at", required=True),
    at_column("expires_at", required=True, index=True),
)
waits = table(
    "waits",
    sa.Column("waiter", sa.String(200), primary_key=True),
    sa.Column("resource", sa.String(400), primary_key=True),
    count_column("priority"),
    at_column("since", required=True),
    at_column("woken_at"),
    at_column("expires_at", required=True, index=True),
)
wait_cycles = table(
    "wait_cycles",
    sa.Column("fingerprint", sa.String(64), primary_key=True),
    json_column("members", "[]"),
    at_column("found_at", required=True),
    at_column("cleared_at"),
)
owners = table(
    "owners",
    sa.Column("resource", sa.String(400), primary_key=True),
    word_column("owner", index=True, size=200),
    at_column("since", required=True),
)
change_requests = table(
    "change_requests",
    own_id(),
    sa.Column("resource", sa.String(400), nullable=False, index=True),
    word_column("requester", size=200),
    word_column("owner", size=200),
    text_column("change"),
    word_column("status", index=True),
    text_column("answer"),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
)
heartbeats = table(
    "heartbeats",
    sa.Column("component", sa.String(200), primary_key=True),
    word_column("kind"),
    word_column("host", size=200),
    count_column("pid"),
    word_column("status", index=True),
    json_column("detail"),
    at_column("started_at", required=True),
    at_column("beat_at", required=True, index=True),
)

# What it cost and how it went.
metrics = table(
    "metrics",
    own_id(),
    word_column("name", index=True),
    sa.Column("value", sa.Float, nullable=False),
    word_column("unit", required=False),
    json_column("scope"),
    at_column("at", required=True),
)
usage = table(
    "usage",
    own_id(),
    refers_to("sessions"),
    refers_to("turns"),
    refers_to("builds"),
    word_column("model"),
    word_column("purpose"),
    sa.Column("input", BIG, nullable=False, server_default="0"),
    sa.Column("output", BIG, nullable=False, server_default="0"),
    sa.Column("cache_read", BIG, nullable=False, server_default="0"),
    sa.Column("cache_write", BIG, nullable=False, server_default="0"),
    number_column("cost_usd"),
    at_column("at", required=True),
)
