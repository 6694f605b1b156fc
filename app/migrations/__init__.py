"""Migrations: one file a schema change, the same for SQLite and PostgreSQL."""
