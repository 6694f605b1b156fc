"""Tables of the shared workspace: works with their versions, and what each task has seen of them."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import Utc
from core.tables import metadata, workspace_column

ID = sa.String(64)

objects = sa.Table(
    "objects",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_by", sa.String(160), nullable=False),
    sa.Column("stale", sa.Boolean, nullable=False),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.Column("deleted_at", Utc),
    sa.CheckConstraint("kind in ('document', 'image', 'video', 'audio', 'model3d', 'collection', 'flow')", name="kind"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_objects_list", "workspace_id", "kind", "created_at"),
)

versions = sa.Table(
    "versions",
    metadata,
    workspace_column(),
    sa.Column("object_id", ID, sa.ForeignKey("objects.id"), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("base_version", sa.Integer, nullable=False),
    sa.Column("media_type", sa.String(100), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("created_by", sa.String(160), nullable=False),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("object_id", "version"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_versions_sha", "workspace_id", "sha256"),
)

object_tasks = sa.Table(
    "object_tasks",
    metadata,
    workspace_column(),
    sa.Column("object_id", ID, sa.ForeignKey("objects.id"), nullable=False),
    sa.Column("task_id", ID, nullable=False),
    sa.Column("seen_version", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("object_id", "task_id"),
    sa.Index("ix_object_tasks_task", "workspace_id", "task_id"),
)
