"""Search tables. The entries are the truth, from which the index can always be rebuilt."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import Utc
from core.tables import metadata, workspace_column

search_entries = sa.Table(
    "search_entries",
    metadata,
    workspace_column(),
    sa.Column("room", sa.String(16), nullable=False),
    sa.Column("id", sa.String(64), nullable=False),
    sa.Column("scope", sa.String(80), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    # The text in the form in which words are searched: without case and accents.
    sa.Column("folded", sa.Text, nullable=False),
    sa.Column("model", sa.String(64), nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    # New with every change, so that an older stamp in the index is out of date.
    sa.Column("stamp", sa.String(64), nullable=False),
    sa.Column("changed_at", Utc, nullable=False),
    sa.Column("indexed_at", Utc),
    sa.Column("removed_at", Utc),
    sa.PrimaryKeyConstraint("workspace_id", "room", "id"),
)

sa.Index(
    "ix_search_entries_pending",
    search_entries.c.workspace_id,
    search_entries.c.changed_at,
    sqlite_where=search_entries.c.indexed_at.is_(None),
    postgresql_where=search_entries.c.indexed_at.is_(None),
)

# The watch counts indexed entries at each pass, and their rows are wide.
sa.Index(
    "ix_search_entries_model",
    search_entries.c.workspace_id,
    search_entries.c.model,
    search_entries.c.removed_at,
    search_entries.c.indexed_at,
)

search_collections = sa.Table(
    "search_collections",
    metadata,
    workspace_column(),
    sa.Column("model", sa.String(64), nullable=False),
    sa.Column("name", sa.String(160), nullable=False),
    sa.Column("made_at", Utc, nullable=False),
    sa.Column("compared_at", Utc),
    sa.PrimaryKeyConstraint("workspace_id", "model"),
)
