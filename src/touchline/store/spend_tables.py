"""Which tables hold what may be spent? Reservations of turns that run; what was spent is in `usage`."""

from __future__ import annotations

import sqlalchemy as sa

from touchline.store.schema import BIG, at_column, count_column, own_id, refers_to, table, word_column

reservations = table(
    "reservations",
    own_id(),
    word_column("scope", index=True, size=200),
    refers_to("sessions", required=True),
    count_column("number", 1),
    sa.Column("tokens", BIG, nullable=False, server_default="0"),
    sa.Column("usd", sa.Float, nullable=False, server_default="0"),
    word_column("status", index=True),
    at_column("created_at", required=True),
    at_column("updated_at", required=True),
    sa.UniqueConstraint("session_id", "number"),
)
