"""What is remembered? Tables, migrations, the event log and the outbox, on SQLite or PostgreSQL."""
