"""Database tables of skills: skills, versions, drafts, grants, runs, claims, refusals, outcomes and reviews."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import Utc
from core.tables import metadata, workspace_column

ID = sa.String(64)
STEM = sa.String(64)
RUN_ID = sa.String(64)
KEY = sa.String(200)
SCHEDULE = sa.String(200)

skills = sa.Table(
    "skills",
    metadata,
    workspace_column(),
    sa.Column("id", STEM, nullable=False),
    sa.Column("origin", sa.String(16), nullable=False),
    sa.Column("path", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("version_id", ID),
    sa.Column("candidate_id", ID),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("problems", sa.JSON, nullable=False),
    sa.Column("refused_sha", sa.String(64), nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "id"),
    sa.CheckConstraint("origin in ('shipped', 'person', 'agent')", name="origin"),
    sa.CheckConstraint(
        "status in ('checking', 'refused', 'waiting', 'active', 'disabled', 'quarantined', 'retired')", name="status"
    ),
)

skill_versions = sa.Table(
    "skill_versions",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("sha", sa.String(64), nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("author", sa.String(16), nullable=False),
    sa.Column("author_ref", sa.String(160)),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("parent_id", ID),
    sa.Column("manifest", sa.JSON, nullable=False),
    sa.Column("functions", sa.JSON, nullable=False),
    sa.Column("stage", sa.String(16), nullable=False),
    sa.Column("stage_facts", sa.JSON, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("active_at", Utc),
    sa.UniqueConstraint("workspace_id", "skill_id", "number"),
    sa.UniqueConstraint("workspace_id", "skill_id", "sha"),
    sa.CheckConstraint("author in ('shipped', 'person', 'agent')", name="author"),
    sa.CheckConstraint(
        "stage in ('checked', 'waiting', 'dry_run', 'shadow', 'canary', 'active', 'superseded', 'rolled_back',"
        " 'quarantined', 'refused', 'retired')",
        name="stage",
    ),
)

skill_drafts = sa.Table(
    "skill_drafts",
    metadata,
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("sha", sa.String(64), nullable=False),
    sa.Column("author", sa.String(16), nullable=False),
    sa.Column("author_ref", sa.String(160), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("base_id", ID),
    sa.Column("source", sa.Text),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "skill_id", "sha", "author_ref"),
)

skill_grants = sa.Table(
    "skill_grants",
    metadata,
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("permission", sa.String(400), nullable=False),
    sa.Column("card_id", ID, nullable=False),
    sa.Column("granted_by", ID, nullable=False),
    sa.Column("at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "skill_id", "permission"),
)

skill_runs = sa.Table(
    "skill_runs",
    metadata,
    workspace_column(),
    sa.Column("run_id", RUN_ID, nullable=False),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("function_id", sa.String(128), nullable=False),
    sa.Column("version_id", ID, nullable=False),
    sa.Column("handler", sa.Boolean, nullable=False),
    sa.Column("stage", sa.String(16), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("event", sa.JSON, nullable=False),
    sa.Column("output", sa.JSON),
    sa.Column("error", sa.JSON),
    sa.Column("began_at", Utc, nullable=False),
    sa.Column("called_at", Utc, nullable=False),
    sa.Column("ended_at", Utc),
    sa.PrimaryKeyConstraint("workspace_id", "run_id"),
    sa.CheckConstraint("status in ('running', 'completed', 'failed', 'cancelled', 'lost')", name="status"),
    sa.Index("ix_skill_runs_version", "workspace_id", "version_id", "status"),
    sa.Index("ix_skill_runs_skill", "workspace_id", "skill_id", "began_at"),
    sa.Index("ix_skill_runs_quiet", "workspace_id", "status", "called_at"),
)

skill_starts = sa.Table(
    "skill_starts",
    metadata,
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("function_id", sa.String(128), nullable=False),
    sa.Column("schedule", SCHEDULE, nullable=False),
    sa.Column("local_date", sa.String(10), nullable=False),
    sa.Column("run_id", RUN_ID, nullable=False),
    sa.Column("at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "skill_id", "function_id", "schedule", "local_date"),
)

skill_claims = sa.Table(
    "skill_claims",
    metadata,
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("key", KEY, nullable=False),
    sa.Column("run_id", RUN_ID, nullable=False),
    sa.Column("until", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "skill_id", "key"),
)

skill_refusals = sa.Table(
    "skill_refusals",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("version_id", ID),
    sa.Column("run_id", RUN_ID),
    sa.Column("what", sa.String(64), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("at", Utc, nullable=False),
    sa.Index("ix_skill_refusals_skill", "workspace_id", "skill_id", "at"),
)

skill_outcomes = sa.Table(
    "skill_outcomes",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("run_id", RUN_ID),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("value", sa.String(32), nullable=False),
    sa.Column("by", ID),
    sa.Column("cause", KEY, nullable=False),
    sa.Column("facts", sa.JSON, nullable=False),
    sa.Column("at", Utc, nullable=False),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_skill_outcomes_skill", "workspace_id", "skill_id", "at"),
)

skill_reviews = sa.Table(
    "skill_reviews",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("skill_id", STEM, nullable=False),
    sa.Column("cause", KEY, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("version_id", ID),
    sa.Column("facts", sa.JSON, nullable=False),
    sa.Column("verdict", sa.JSON),
    sa.Column("prediction", sa.JSON),
    sa.Column("comparison", sa.JSON),
    sa.Column("task_id", ID),
    sa.Column("at", Utc, nullable=False),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.CheckConstraint("state in ('requested', 'gathered', 'judged', 'done')", name="state"),
    sa.Index("ix_skill_reviews_skill", "workspace_id", "skill_id", "at"),
)
