"""Tables of the memory: facts with versions and evidence, messages to read, and forgotten statements."""

from __future__ import annotations

import sqlalchemy as sa

from core.sql.columns import Utc
from core.tables import metadata, workspace_column

ID = sa.String(64)
CANDIDATE_ID = sa.String(160)
SCOPE = sa.String(80)
FINGERPRINT = sa.String(64)

facts = sa.Table(
    "facts",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("scope", SCOPE, nullable=False),
    sa.Column("person_id", ID, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("fingerprint", FINGERPRINT),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.Column("forgotten_at", Utc),
    # A forgotten fact has no fingerprint, and any number of rows may have none.
    sa.UniqueConstraint("workspace_id", "scope", "fingerprint"),
    sa.Index("ix_facts_recent", "workspace_id", "scope", "updated_at", "id"),
)

fact_versions = sa.Table(
    "fact_versions",
    metadata,
    workspace_column(),
    sa.Column("fact_id", ID, sa.ForeignKey("facts.id"), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("text", sa.Text),
    sa.Column("standing", sa.String(16), nullable=False),
    sa.Column("valid_from", Utc, nullable=False),
    sa.Column("valid_to", Utc),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("superseded_at", Utc),
    sa.Column("cleared_at", Utc),
    sa.PrimaryKeyConstraint("fact_id", "n"),
    sa.CheckConstraint("standing in ('stated', 'inferred')", name="standing"),
)

evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("fact_id", ID, sa.ForeignKey("facts.id"), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("source_id", sa.String(200), nullable=False),
    sa.Column("eligible", sa.Boolean, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.CheckConstraint("role in ('origin', 'refine', 'confirm')", name="role"),
    sa.CheckConstraint("kind in ('message', 'correction')", name="kind"),
    sa.UniqueConstraint("workspace_id", "fact_id", "n", "kind", "source_id"),
    sa.Index("ix_evidence_source", "workspace_id", "kind", "source_id"),
)

recalls = sa.Table(
    "recalls",
    metadata,
    workspace_column(),
    sa.Column("call_id", sa.String(160), nullable=False),
    sa.Column("fact_id", ID, sa.ForeignKey("facts.id"), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "call_id", "fact_id"),
    sa.Index("ix_recalls_fact", "workspace_id", "fact_id"),
)

suppressions = sa.Table(
    "suppressions",
    metadata,
    workspace_column(),
    sa.Column("scope", SCOPE, nullable=False),
    sa.Column("fingerprint", FINGERPRINT, nullable=False),
    sa.Column("card_id", ID, nullable=False),
    sa.Column("hits", sa.Integer, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("workspace_id", "scope", "fingerprint"),
)

forgets = sa.Table(
    "forgets",
    metadata,
    sa.Column("card_id", ID, primary_key=True),
    workspace_column(),
    sa.Column("person_id", ID, nullable=False),
    sa.Column("fact_ids", sa.JSON, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("counts", sa.JSON, nullable=False),
    sa.Column("checked", sa.JSON),
    sa.Column("ring", sa.Integer, nullable=False),
    sa.Column("rung_at", Utc, nullable=False),
    sa.Column("requested_at", Utc, nullable=False),
    sa.Column("done_at", Utc),
    sa.CheckConstraint("state in ('requested', 'cleared', 'done')", name="state"),
    sa.Index("ix_forgets_undone", "workspace_id", "state", "rung_at"),
)

readings = sa.Table(
    "readings",
    metadata,
    sa.Column("message_id", ID, primary_key=True),
    workspace_column(),
    sa.Column("person_id", ID, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("due_at", Utc, nullable=False),
    sa.Column("rung_at", Utc, nullable=False),
    sa.Column("read_at", Utc),
    sa.CheckConstraint("state in ('due', 'read', 'given_up', 'revoked')", name="state"),
    sa.Index("ix_readings_due", "workspace_id", "state", "due_at"),
)

candidates = sa.Table(
    "candidates",
    metadata,
    sa.Column("id", CANDIDATE_ID, primary_key=True),
    workspace_column(),
    sa.Column("person_id", ID, nullable=False),
    # NULL for None, so that a cleared value leaves nothing to search for.
    sa.Column("body", sa.JSON(none_as_null=True)),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("about", ID),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("action", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("fact_id", ID),
    sa.Column("n", sa.Integer),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("judged_at", Utc),
    sa.CheckConstraint("state in ('pending', 'kept', 'refused')", name="state"),
    sa.Index("ix_candidates_pending", "workspace_id", "state", "created_at"),
)
