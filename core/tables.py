"""Core tables: workspaces, persons, roles, keys, channels, changes, replies and leases."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import Utc

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = sa.MetaData(naming_convention=NAMING)


def workspace_column() -> sa.Column[str]:
    """Make the column by which a table belongs to workspaces: every statement on it needs the scope of one."""
    return sa.Column("workspace_id", sa.String(64), sa.ForeignKey("workspaces.id"), nullable=False)


workspaces = sa.Table(
    "workspaces",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("timezone", sa.String(64), nullable=False),
    sa.Column("change_seq", sa.BigInteger, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
)

persons = sa.Table(
    "persons",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
)

roles = sa.Table(
    "roles",
    metadata,
    workspace_column(),
    sa.Column("person_id", sa.String(64), sa.ForeignKey("persons.id"), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "person_id"),
    sa.CheckConstraint("role in ('owner', 'member', 'viewer')", name="role"),
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    workspace_column(),
    sa.Column("person_id", sa.String(64), sa.ForeignKey("persons.id"), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("speaks_as", sa.String(16), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("revoked_at", Utc),
    sa.CheckConstraint("speaks_as in ('person', 'program')", name="speaks_as"),
)

channels = sa.Table(
    "channels",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    workspace_column(),
    sa.Column("person_id", sa.String(64), sa.ForeignKey("persons.id"), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.UniqueConstraint("workspace_id", "person_id", "kind", "address"),
)

# What people should see, for the event streams, numbered in each workspace (`seq`).
changes = sa.Table(
    "changes",
    metadata,
    workspace_column(),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("id", sa.String(160), nullable=False),
    sa.Column("at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "seq"),
)

# Kept answers to API commands, by their `Idempotency-Key`; not the replies to messages.
replies = sa.Table(
    "replies",
    metadata,
    workspace_column(),
    sa.Column("key", sa.String(200), nullable=False),
    sa.Column("endpoint", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("body", sa.JSON),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "key"),
)

# Leases by name (`core/leases.py`); turns and orders have theirs in their own rows.
leases = sa.Table(
    "leases",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("holder", sa.String(64), nullable=False),
    sa.Column("until", Utc, nullable=False),
)
