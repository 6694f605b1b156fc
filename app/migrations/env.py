"""Alembic's entry: runs the migrations on the connection that `app.schema_upgrade` passes in."""

from __future__ import annotations

from alembic import context

from app.schema import all_tables


def run() -> None:
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=all_tables(),
        render_as_batch=connection.dialect.name == "sqlite",
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


run()
