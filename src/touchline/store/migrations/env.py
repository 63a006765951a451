"""Runs migrations on the connection that `migrate` hands over; there is no command line for it."""

from __future__ import annotations

from alembic import context

from touchline.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
