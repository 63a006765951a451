"""From an idea to tasks, what agents did, and what people were asked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from touchline.store.columns import Json, Moment

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "ideas",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("phase", sa.String(length=80), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("person", sa.String(length=80), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ideas")),
    )
    op.create_index(op.f("ix_ideas_status"), "ideas", ["status"], unique=False)
    op.create_table(
        "lessons",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("pattern", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.String(length=80), nullable=True),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("sightings", sa.Integer(), server_default="1", nullable=False),
        sa.Column("superseded_by", sa.String(length=80), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lessons")),
    )
    op.create_index(op.f("ix_lessons_status"), "lessons", ["status"], unique=False)
    op.create_table(
        "artefacts",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("idea_id", sa.String(length=80), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["idea_id"], ["ideas.id"], name=op.f("fk_artefacts_idea_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artefacts")),
    )
    op.create_index(op.f("ix_artefacts_idea_id"), "artefacts", ["idea_id"], unique=False)
    op.create_table(
        "lesson_history",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("lesson_id", sa.String(length=80), nullable=False),
        sa.Column("event", sa.String(length=80), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["lesson_id"], ["lessons.id"], name=op.f("fk_lesson_history_lesson_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lesson_history")),
    )
    op.create_index(op.f("ix_lesson_history_lesson_id"), "lesson_history", ["lesson_id"], unique=False)
    op.create_table(
        "messages",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("idea_id", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("signals", Json(), server_default="{}", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["idea_id"], ["ideas.id"], name=op.f("fk_messages_idea_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
    )
    op.create_index(op.f("ix_messages_idea_id"), "messages", ["idea_id"], unique=False)
    op.create_table(
        "specs",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("idea_id", sa.String(length=80), nullable=True),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("path", sa.Text(), server_default="", nullable=False),
        sa.Column("tasks_path", sa.Text(), server_default="", nullable=False),
        sa.Column("approved_by", sa.String(length=80), nullable=True),
        sa.Column("approved_at", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["idea_id"], ["ideas.id"], name=op.f("fk_specs_idea_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_specs")),
    )
    op.create_index(op.f("ix_specs_idea_id"), "specs", ["idea_id"], unique=False)
    op.create_index(op.f("ix_specs_status"), "specs", ["status"], unique=False)
    op.create_table(
        "builds",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("spec_id", sa.String(length=80), nullable=True),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=True),
        sa.Column("repository", sa.Text(), server_default="", nullable=False),
        sa.Column("base_commit", sa.String(length=80), nullable=True),
        sa.Column("budget", Json(), server_default="{}", nullable=False),
        sa.Column("started_at", Moment(), nullable=True),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["spec_id"], ["specs.id"], name=op.f("fk_builds_spec_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_builds")),
    )
    op.create_index(op.f("ix_builds_spec_id"), "builds", ["spec_id"], unique=False)
    op.create_index(op.f("ix_builds_status"), "builds", ["status"], unique=False)
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("spec_id", sa.String(length=80), nullable=True),
        sa.Column("build_id", sa.String(length=80), nullable=True),
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("phase", sa.String(length=80), nullable=False),
        sa.Column("action", sa.String(length=80), nullable=False),
        sa.Column("file", sa.Text(), server_default="", nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=True),
        sa.Column("requirements", Json(), server_default="[]", nullable=False),
        sa.Column("gotchas", Json(), server_default="[]", nullable=False),
        sa.Column("validation", Json(), server_default="{}", nullable=False),
        sa.Column("depends_on", Json(), server_default="[]", nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("position", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lesson", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["build_id"], ["builds.id"], name=op.f("fk_tasks_build_id")),
        sa.ForeignKeyConstraint(["spec_id"], ["specs.id"], name=op.f("fk_tasks_spec_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index(op.f("ix_tasks_build_id"), "tasks", ["build_id"], unique=False)
    op.create_index(op.f("ix_tasks_spec_id"), "tasks", ["spec_id"], unique=False)
    op.create_index(op.f("ix_tasks_status"), "tasks", ["status"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("task_id", sa.String(length=80), nullable=False),
        sa.Column("number", sa.Integer(), server_default="1", nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=True),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_attempts_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("task_id", "number", name=op.f("uq_attempts_task_id_number")),
    )
    op.create_index(op.f("ix_attempts_status"), "attempts", ["status"], unique=False)
    op.create_index(op.f("ix_attempts_task_id"), "attempts", ["task_id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("task_id", sa.String(length=80), nullable=True),
        sa.Column("attempt_id", sa.String(length=80), nullable=True),
        sa.Column("agent", sa.String(length=80), nullable=False),
        sa.Column("model", sa.String(length=80), nullable=True),
        sa.Column("cli_session_id", sa.String(length=200), nullable=True),
        sa.Column("workspace", sa.Text(), server_default="", nullable=False),
        sa.Column("task_text", sa.Text(), server_default="", nullable=False),
        sa.Column("phase", sa.String(length=80), nullable=True),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=True),
        sa.Column("turns", sa.Integer(), server_default="0", nullable=False),
        sa.Column("continuations", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("nudged", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_sessions_attempt_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_sessions_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_attempt_id"), "sessions", ["attempt_id"], unique=False)
    op.create_index(op.f("ix_sessions_status"), "sessions", ["status"], unique=False)
    op.create_index(op.f("ix_sessions_task_id"), "sessions", ["task_id"], unique=False)
    op.create_table(
        "questions",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("type", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("context", sa.Text(), server_default="", nullable=False),
        sa.Column("options", Json(), server_default="[]", nullable=False),
        sa.Column("default_answer", sa.Text(), nullable=True),
        sa.Column("blocking", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("irreversible", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("expires_at", Moment(), nullable=True),
        sa.Column("remind_at", Moment(), nullable=True),
        sa.Column("idea_id", sa.String(length=80), nullable=True),
        sa.Column("task_id", sa.String(length=80), nullable=True),
        sa.Column("session_id", sa.String(length=80), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("updated_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["idea_id"], ["ideas.id"], name=op.f("fk_questions_idea_id")),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_questions_session_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_questions_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
    )
    op.create_index(op.f("ix_questions_expires_at"), "questions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_questions_idea_id"), "questions", ["idea_id"], unique=False)
    op.create_index(op.f("ix_questions_session_id"), "questions", ["session_id"], unique=False)
    op.create_index(op.f("ix_questions_status"), "questions", ["status"], unique=False)
    op.create_index(op.f("ix_questions_task_id"), "questions", ["task_id"], unique=False)
    op.create_table(
        "reviews",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("task_id", sa.String(length=80), nullable=True),
        sa.Column("session_id", sa.String(length=80), nullable=True),
        sa.Column("origin", sa.String(length=80), nullable=False),
        sa.Column("status", sa.String(length=80), nullable=False),
        sa.Column("verdict", sa.String(length=80), nullable=True),
        sa.Column("request", sa.Text(), server_default="", nullable=False),
        sa.Column("guidance", sa.Text(), server_default="", nullable=False),
        sa.Column("reviewer", sa.String(length=80), nullable=True),
        sa.Column("streak", sa.Integer(), server_default="0", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("answered_at", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_reviews_session_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_reviews_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reviews")),
    )
    op.create_index(op.f("ix_reviews_session_id"), "reviews", ["session_id"], unique=False)
    op.create_index(op.f("ix_reviews_status"), "reviews", ["status"], unique=False)
    op.create_index(op.f("ix_reviews_task_id"), "reviews", ["task_id"], unique=False)
    op.create_table(
        "turns",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("session_id", sa.String(length=80), nullable=False),
        sa.Column("number", sa.Integer(), server_default="1", nullable=False),
        sa.Column("prompt", sa.Text(), server_default="", nullable=False),
        sa.Column("ended", sa.String(length=80), nullable=True),
        sa.Column("end_detail", sa.Text(), server_default="", nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("stop_kind", sa.String(length=80), nullable=True),
        sa.Column("final_text", sa.Text(), server_default="", nullable=False),
        sa.Column("raw_path", sa.Text(), nullable=True),
        sa.Column("started_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_turns_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
        sa.UniqueConstraint("session_id", "number", name=op.f("uq_turns_session_id_number")),
    )
    op.create_index(op.f("ix_turns_session_id"), "turns", ["session_id"], unique=False)
    op.create_table(
        "answers",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("question_id", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("source", sa.String(length=80), nullable=False),
        sa.Column("person", sa.String(length=80), nullable=True),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["question_id"], ["questions.id"], name=op.f("fk_answers_question_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answers")),
        sa.UniqueConstraint("question_id", name=op.f("uq_answers_question_id")),
    )
    op.create_table(
        "decisions",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("session_id", sa.String(length=80), nullable=False),
        sa.Column("turn_id", sa.String(length=80), nullable=True),
        sa.Column("action", sa.String(length=80), nullable=False),
        sa.Column("reason", sa.String(length=80), nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.Column("evidence", Json(), server_default="{}", nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_decisions_session_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_decisions_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decisions")),
    )
    op.create_index(op.f("ix_decisions_reason"), "decisions", ["reason"], unique=False)
    op.create_index(op.f("ix_decisions_session_id"), "decisions", ["session_id"], unique=False)
    op.create_index(op.f("ix_decisions_turn_id"), "decisions", ["turn_id"], unique=False)
    op.create_table(
        "usage",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("session_id", sa.String(length=80), nullable=True),
        sa.Column("turn_id", sa.String(length=80), nullable=True),
        sa.Column("build_id", sa.String(length=80), nullable=True),
        sa.Column("model", sa.String(length=80), nullable=False),
        sa.Column("purpose", sa.String(length=80), nullable=False),
        sa.Column("input", BIG, server_default="0", nullable=False),
        sa.Column("output", BIG, server_default="0", nullable=False),
        sa.Column("cache_read", BIG, server_default="0", nullable=False),
        sa.Column("cache_write", BIG, server_default="0", nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["build_id"], ["builds.id"], name=op.f("fk_usage_build_id")),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_usage_session_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_usage_turn_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_usage")),
    )
    op.create_index(op.f("ix_usage_build_id"), "usage", ["build_id"], unique=False)
    op.create_index(op.f("ix_usage_session_id"), "usage", ["session_id"], unique=False)
    op.create_index(op.f("ix_usage_turn_id"), "usage", ["turn_id"], unique=False)
    op.create_table(
        "coaching",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("session_id", sa.String(length=80), nullable=False),
        sa.Column("decision_id", sa.String(length=80), nullable=True),
        sa.Column("tier", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=True),
        sa.Column("at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(["decision_id"], ["decisions.id"], name=op.f("fk_coaching_decision_id")),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_coaching_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coaching")),
    )
    op.create_index(op.f("ix_coaching_decision_id"), "coaching", ["decision_id"], unique=False)
    op.create_index(op.f("ix_coaching_session_id"), "coaching", ["session_id"], unique=False)
    # ### end Alembic commands ###
