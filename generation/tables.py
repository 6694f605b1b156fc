"""Tables of generation: orders placed with providers."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import MoneyType, Utc
from core.tables import metadata, workspace_column

ID = sa.String(64)

orders = sa.Table(
    "orders",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID),
    sa.Column("turn_id", ID, nullable=False),
    sa.Column("call_id", sa.String(160), nullable=False),
    sa.Column("key", sa.String(160), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("provider", sa.String(40), nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("params", sa.JSON, nullable=False),
    sa.Column("inputs", sa.JSON, nullable=False),
    sa.Column("object_id", ID),
    sa.Column("base_version", sa.Integer),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("progress", sa.Float, nullable=False),
    sa.Column("quote", MoneyType, nullable=False),
    sa.Column("most", MoneyType, nullable=False),
    sa.Column("claim", sa.String(300)),
    sa.Column("charge", MoneyType),
    sa.Column("contested", sa.String(16)),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("upstream_id", sa.String(200)),
    sa.Column("outputs", sa.JSON, nullable=False),
    sa.Column("object_ids", sa.JSON, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("lost", sa.Integer, nullable=False, server_default="0"),
    sa.Column("doubts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("doubted_at", Utc),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("ring", sa.Integer, nullable=False),
    sa.Column("lease_token", sa.String(64)),
    sa.Column("lease_until", Utc),
    sa.Column("news_at", Utc, nullable=False),
    sa.Column("rung_at", Utc, nullable=False),
    sa.Column("cancel_requested_at", Utc),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("not_before", Utc),
    sa.Column("submitted_at", Utc),
    sa.Column("deadline", Utc, nullable=False),
    sa.Column("ended_at", Utc),
    sa.CheckConstraint("kind in ('image', 'video', 'audio', 'model3d')", name="kind"),
    sa.CheckConstraint(
        "state in ('ordered', 'submitting', 'queued', 'running', 'succeeded', 'failed', 'cancelled', 'unresolved')",
        name="state",
    ),
    sa.UniqueConstraint("workspace_id", "key"),
    sa.Index("ix_orders_open", "workspace_id", "state", "news_at"),
    sa.Index("ix_orders_task", "workspace_id", "task_id", "created_at"),
    sa.Index("ix_orders_upstream", "provider", "upstream_id"),
)
