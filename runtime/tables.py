"""Tables of the agent runtime: messages, tasks, inbox, turns and ledger, cards, checklist, money."""

from __future__ import annotations

import sqlalchemy as sa

from core.columns import Money, Utc
from core.tables import metadata, workspace_column

ID = sa.String(64)
CALL_ID = sa.String(160)

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("person_id", ID, nullable=False),
    sa.Column("channel_id", ID),
    sa.Column("client_id", sa.String(200)),
    sa.Column("author", sa.String(16), nullable=False),
    sa.Column("asked_by", sa.String(16), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("attachments", sa.JSON, nullable=False),
    sa.Column("language", sa.String(16), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("to_task_id", ID),
    sa.Column("to_object_id", ID),
    sa.Column("to_card_id", ID),
    sa.Column("task_id", ID),
    sa.Column("reply_to", ID),
    sa.Column("turn_id", ID),
    sa.Column("cause", sa.String(200)),
    sa.Column("replaced_by", ID),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("routed_at", Utc),
    sa.CheckConstraint("author in ('user', 'agent')", name="author"),
    sa.CheckConstraint("asked_by in ('person', 'program', 'agent')", name="asked_by"),
    sa.CheckConstraint(
        "state in ('received', 'routed', 'delivered', 'consumed', 'answered', 'withdrawn', 'replaced', 'sent')",
        name="state",
    ),
    sa.UniqueConstraint("workspace_id", "client_id"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_messages_thread", "workspace_id", "created_at", "id"),
    sa.Index("ix_messages_task", "workspace_id", "task_id", "created_at"),
    sa.Index("ix_messages_unrouted", "workspace_id", "state", "person_id", "created_at"),
)

routes = sa.Table(
    "routes",
    metadata,
    sa.Column("message_id", ID, sa.ForeignKey("messages.id"), primary_key=True),
    workspace_column(),
    sa.Column("level", sa.String(16), nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("task_id", ID),
    sa.Column("reasons", sa.JSON, nullable=False),
    sa.Column("candidates", sa.JSON, nullable=False),
    sa.Column("object_ids", sa.JSON, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.CheckConstraint("level in ('explicit', 'object', 'semantic')", name="level"),
    sa.CheckConstraint("outcome in ('main', 'light', 'existing', 'new', 'ask')", name="outcome"),
)

tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("person_id", ID, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("parent_id", ID),
    sa.Column("goal", sa.Text, nullable=False),
    sa.Column("brief", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("autonomy", sa.String(16), nullable=False),
    sa.Column("plan_budget", Money),
    sa.Column("language", sa.String(16), nullable=False),
    sa.Column("asked_by", sa.String(16), nullable=False),
    sa.Column("idle_rounds", sa.Integer, nullable=False),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.CheckConstraint("kind in ('light', 'persistent')", name="kind"),
    sa.CheckConstraint(
        "status in ('active', 'waiting', 'paused', 'blocked', 'done', 'stopped', 'archived')", name="status"
    ),
    sa.CheckConstraint("autonomy in ('step', 'checkpoint', 'plan')", name="autonomy"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_tasks_recent", "workspace_id", "status", "updated_at"),
)

inbox = sa.Table(
    "inbox",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID, sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("ref_id", sa.String(160), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("position", sa.Integer),
    sa.Column("turn_id", ID),
    sa.Column("step", sa.Integer),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("consumed_at", Utc),
    sa.CheckConstraint("kind in ('message', 'outcome', 'answer', 'object')", name="kind"),
    sa.CheckConstraint("state in ('delivered', 'claimed', 'consumed', 'withdrawn', 'replaced', 'moved')", name="state"),
    sa.UniqueConstraint("workspace_id", "task_id", "kind", "ref_id"),
    sa.Index("ix_inbox_unread", "workspace_id", "task_id", "state", "created_at"),
)

turns = sa.Table(
    "turns",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID, sa.ForeignKey("tasks.id")),
    sa.Column("message_id", ID),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("ring", sa.Integer, nullable=False),
    sa.Column("run_id", sa.String(64)),
    sa.Column("lease_token", sa.String(64)),
    sa.Column("lease_until", Utc),
    sa.Column("touched_at", Utc, nullable=False),
    sa.Column("rung_at", Utc, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("started_at", Utc),
    sa.Column("ended_at", Utc),
    sa.CheckConstraint(
        "status in ('queued', 'running', 'completed', 'waiting', 'gated', 'stopped', 'failed')", name="status"
    ),
    sa.CheckConstraint("(task_id is null) <> (message_id is null)", name="owner"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index(
        "uq_turns_open",
        "task_id",
        unique=True,
        sqlite_where=sa.text("status in ('queued', 'running')"),
        postgresql_where=sa.text("status in ('queued', 'running')"),
    ),
    sa.Index("ix_turns_open_work", "workspace_id", "status", "touched_at"),
    sa.Index("ix_turns_task", "workspace_id", "task_id", "created_at"),
)

steps = sa.Table(
    "steps",
    metadata,
    workspace_column(),
    sa.Column("turn_id", ID, sa.ForeignKey("turns.id"), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("cached_tokens", sa.Integer, nullable=False),
    sa.Column("layers", sa.JSON, nullable=False),
    sa.Column("facts", sa.JSON, nullable=False),
    sa.Column("cut", sa.Boolean, nullable=False),
    sa.Column("refused", sa.Boolean, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("turn_id", "n"),
)

calls = sa.Table(
    "calls",
    metadata,
    sa.Column("id", CALL_ID, primary_key=True),
    workspace_column(),
    sa.Column("turn_id", ID, sa.ForeignKey("turns.id"), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("tool", sa.String(80), nullable=False),
    sa.Column("effect", sa.String(16), nullable=False),
    sa.Column("arguments", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("ok", sa.Boolean),
    sa.Column("result", sa.JSON),
    sa.Column("result_ref", ID),
    sa.Column("started_at", Utc),
    sa.Column("finished_at", Utc),
    sa.CheckConstraint("effect in ('read', 'write', 'paid', 'irreversible')", name="effect"),
    sa.CheckConstraint(
        "status in ('proposed', 'started', 'done', 'failed', 'cancelled', 'outcome_unknown')", name="status"
    ),
    sa.UniqueConstraint("turn_id", "step", "seq"),
)

originals = sa.Table(
    "originals",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.UniqueConstraint("workspace_id", "cause"),
)

waits = sa.Table(
    "waits",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID, sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("turn_id", ID, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("refs", sa.JSON, nullable=False),
    sa.Column("who", sa.Text, nullable=False),
    sa.Column("then", sa.Text, nullable=False),
    sa.Column("deadline", Utc),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("ended_at", Utc),
    sa.CheckConstraint("kind in ('generation', 'card', 'message', 'schedule')", name="kind"),
    sa.Index(
        "uq_waits_open",
        "task_id",
        unique=True,
        sqlite_where=sa.text("ended_at is null"),
        postgresql_where=sa.text("ended_at is null"),
    ),
)

cards = sa.Table(
    "cards",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID),
    sa.Column("turn_id", ID),
    sa.Column("message_id", ID),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("options", sa.JSON, nullable=False),
    sa.Column("quote", sa.JSON),
    sa.Column("subject", sa.JSON, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("answer_option", sa.String(80)),
    sa.Column("answer_text", sa.Text),
    sa.Column("answered_by", ID),
    sa.Column("answered_at", Utc),
    sa.Column("expires_at", Utc),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.CheckConstraint(
        "kind in ('clarify', 'checkpoint', 'choice', 'quote', 'limit', 'permission', 'irreversible', 'result', "
        "'blocked')",
        name="kind",
    ),
    sa.CheckConstraint("state in ('open', 'answered', 'expired', 'superseded', 'void')", name="state"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_cards_open", "workspace_id", "state", "created_at"),
    sa.Index("ix_cards_task", "workspace_id", "task_id", "state"),
)

checklist_steps = sa.Table(
    "checklist_steps",
    metadata,
    workspace_column(),
    sa.Column("task_id", ID, sa.ForeignKey("tasks.id"), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("acceptance", sa.Text, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("stale", sa.Boolean, nullable=False),
    sa.Column("depends_on", sa.JSON, nullable=False),
    sa.Column("evidence", sa.JSON, nullable=False),
    sa.Column("checkpoint", sa.Boolean, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("task_id", "n"),
    sa.CheckConstraint("status in ('todo', 'doing', 'waiting', 'done', 'blocked', 'skipped')", name="status"),
)

budgets = sa.Table(
    "budgets",
    metadata,
    sa.Column("workspace_id", sa.String(64), sa.ForeignKey("workspaces.id"), primary_key=True),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("free_per_operation", Money, nullable=False),
    sa.Column("free_per_day", Money, nullable=False),
)

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("amount", Money, nullable=False),
    sa.Column("currency", sa.String(3), nullable=False),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("order_id", ID),
    sa.Column("at", Utc, nullable=False),
    sa.CheckConstraint("kind in ('grant', 'reserve', 'release', 'settle')", name="kind"),
    sa.UniqueConstraint("workspace_id", "cause", "kind"),
)

reservations = sa.Table(
    "reservations",
    metadata,
    sa.Column("order_id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID),
    sa.Column("amount", Money, nullable=False),
    sa.Column("charge", Money),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("card_id", ID),
    sa.Column("day", sa.Date, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("ended_at", Utc),
    sa.CheckConstraint("state in ('held', 'settled', 'released')", name="state"),
    sa.Index("ix_reservations_day", "workspace_id", "day"),
    sa.Index("ix_reservations_task", "workspace_id", "task_id"),
)

notices = sa.Table(
    "notices",
    metadata,
    sa.Column("id", ID, primary_key=True),
    workspace_column(),
    sa.Column("task_id", ID),
    sa.Column("audience", sa.String(16), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("cause", sa.String(200), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("sent_at", Utc),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.CheckConstraint("audience in ('person', 'ops')", name="audience"),
    sa.UniqueConstraint("workspace_id", "cause"),
    sa.Index("ix_notices_unsent", "workspace_id", "sent_at"),
)
