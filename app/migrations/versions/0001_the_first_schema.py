"""The first schema"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import core.sql.columns

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("holder", sa.String(length=64), nullable=False),
        sa.Column("until", core.sql.columns.Utc(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "persons",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_persons")),
    )
    op.create_table(
        "workspaces",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("change_seq", sa.BigInteger(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspaces")),
    )
    op.create_table(
        "budgets",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("balance", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("reserved", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("free_per_operation", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("free_per_day", core.sql.columns.MoneyType(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_budgets_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", name=op.f("pk_budgets")),
    )
    op.create_table(
        "candidates",
        sa.Column("id", sa.String(length=160), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("about", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("fact_id", sa.String(length=64), nullable=True),
        sa.Column("n", sa.Integer(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("judged_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("state in ('pending', 'kept', 'refused')", name=op.f("ck_candidates_state")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_candidates_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
    )
    with op.batch_alter_table("candidates", schema=None) as batch_op:
        batch_op.create_index("ix_candidates_pending", ["workspace_id", "state", "created_at"], unique=False)

    op.create_table(
        "cards",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("turn_id", sa.String(length=64), nullable=True),
        sa.Column("message_id", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("quote", sa.JSON(), nullable=True),
        sa.Column("subject", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("answer_option", sa.String(length=80), nullable=True),
        sa.Column("answer_text", sa.Text(), nullable=True),
        sa.Column("answered_by", sa.String(length=64), nullable=True),
        sa.Column("answered_as", sa.String(length=16), nullable=True),
        sa.Column("answered_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("expires_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("answered_as in ('person', 'program')", name=op.f("ck_cards_answered_as")),
        sa.CheckConstraint(
            "kind in ('clarify', 'checkpoint', 'choice', 'quote', 'limit', 'permission', 'irreversible', 'result', 'blocked')",
            name=op.f("ck_cards_kind"),
        ),
        sa.CheckConstraint(
            "state in ('open', 'answered', 'expired', 'superseded', 'void')", name=op.f("ck_cards_state")
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_cards_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cards")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_cards_workspace_id_cause")),
    )
    with op.batch_alter_table("cards", schema=None) as batch_op:
        batch_op.create_index("ix_cards_open", ["workspace_id", "state", "created_at"], unique=False)
        batch_op.create_index("ix_cards_task", ["workspace_id", "task_id", "state"], unique=False)

    op.create_table(
        "changes",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("id", sa.String(length=160), nullable=False),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_changes_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "seq", name=op.f("pk_changes")),
    )
    op.create_table(
        "channels",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_channels_person_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_channels_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_channels")),
        sa.UniqueConstraint(
            "workspace_id", "person_id", "kind", "address", name=op.f("uq_channels_workspace_id_person_id_kind_address")
        ),
    )
    op.create_table(
        "entries",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("amount", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("order_id", sa.String(length=64), nullable=True),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("kind in ('grant', 'reserve', 'release', 'settle')", name=op.f("ck_entries_kind")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_entries_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entries")),
        sa.UniqueConstraint("workspace_id", "cause", "kind", name=op.f("uq_entries_workspace_id_cause_kind")),
    )
    op.create_table(
        "facts",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=80), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("updated_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("forgotten_at", core.sql.columns.Utc(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_facts_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
        sa.UniqueConstraint(
            "workspace_id", "scope", "fingerprint", name=op.f("uq_facts_workspace_id_scope_fingerprint")
        ),
    )
    with op.batch_alter_table("facts", schema=None) as batch_op:
        batch_op.create_index("ix_facts_recent", ["workspace_id", "scope", "updated_at", "id"], unique=False)

    op.create_table(
        "forgets",
        sa.Column("card_id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("fact_ids", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("checked", sa.JSON(), nullable=True),
        sa.Column("ring", sa.Integer(), nullable=False),
        sa.Column("rung_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("requested_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("done_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("state in ('requested', 'cleared', 'done')", name=op.f("ck_forgets_state")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_forgets_workspace_id")),
        sa.PrimaryKeyConstraint("card_id", name=op.f("pk_forgets")),
    )
    with op.batch_alter_table("forgets", schema=None) as batch_op:
        batch_op.create_index("ix_forgets_undone", ["workspace_id", "state", "rung_at"], unique=False)

    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("speaks_as", sa.String(length=16), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("revoked_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("speaks_as in ('person', 'program')", name=op.f("ck_keys_speaks_as")),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_keys_person_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_keys_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("channel_id", sa.String(length=64), nullable=True),
        sa.Column("client_id", sa.String(length=200), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=True),
        sa.Column("author", sa.String(length=16), nullable=False),
        sa.Column("asked_by", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("attachments", sa.JSON(), nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("to_task_id", sa.String(length=64), nullable=True),
        sa.Column("to_object_id", sa.String(length=64), nullable=True),
        sa.Column("to_card_id", sa.String(length=64), nullable=True),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("reply_to", sa.String(length=64), nullable=True),
        sa.Column("turn_id", sa.String(length=64), nullable=True),
        sa.Column("cause", sa.String(length=200), nullable=True),
        sa.Column("replaced_by", sa.String(length=64), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("routed_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("asked_by in ('person', 'program', 'agent')", name=op.f("ck_messages_asked_by")),
        sa.CheckConstraint("author in ('user', 'agent')", name=op.f("ck_messages_author")),
        sa.CheckConstraint(
            "state in ('received', 'routed', 'delivered', 'consumed', 'answered', 'withdrawn', 'replaced', 'superseded', 'sent')",
            name=op.f("ck_messages_state"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_messages_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_messages_workspace_id_cause")),
        sa.UniqueConstraint("workspace_id", "client_id", name=op.f("uq_messages_workspace_id_client_id")),
    )
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index("ix_messages_reply_to", ["workspace_id", "reply_to"], unique=False)
        batch_op.create_index("ix_messages_task", ["workspace_id", "task_id", "created_at"], unique=False)
        batch_op.create_index("ix_messages_thread", ["workspace_id", "created_at", "id"], unique=False)
        batch_op.create_index("ix_messages_turn", ["workspace_id", "turn_id"], unique=False)
        batch_op.create_index(
            "ix_messages_unrouted", ["workspace_id", "state", "person_id", "created_at"], unique=False
        )

    op.create_table(
        "notices",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("audience", sa.String(length=16), nullable=False),
        sa.Column("channel", sa.String(length=40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("sent_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.CheckConstraint("audience in ('person', 'ops')", name=op.f("ck_notices_audience")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_notices_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_notices_workspace_id_cause")),
    )
    with op.batch_alter_table("notices", schema=None) as batch_op:
        batch_op.create_index("ix_notices_unsent", ["workspace_id", "sent_at"], unique=False)

    op.create_table(
        "objects",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(length=160), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("updated_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("deleted_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint(
            "kind in ('document', 'image', 'video', 'audio', 'model3d', 'collection', 'flow')",
            name=op.f("ck_objects_kind"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_objects_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_objects")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_objects_workspace_id_cause")),
    )
    with op.batch_alter_table("objects", schema=None) as batch_op:
        batch_op.create_index("ix_objects_list", ["workspace_id", "kind", "created_at"], unique=False)

    op.create_table(
        "orders",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("call_id", sa.String(length=160), nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("provider", sa.String(length=40), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("inputs", sa.JSON(), nullable=False),
        sa.Column("object_id", sa.String(length=64), nullable=True),
        sa.Column("base_version", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("quote", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("most", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("claim", sa.String(length=300), nullable=True),
        sa.Column("charge", core.sql.columns.MoneyType(), nullable=True),
        sa.Column("contested", sa.String(length=16), nullable=True),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("upstream_id", sa.String(length=200), nullable=True),
        sa.Column("outputs", sa.JSON(), nullable=False),
        sa.Column("object_ids", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("lost", sa.Integer(), server_default="0", nullable=False),
        sa.Column("doubts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("doubted_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("ring", sa.Integer(), nullable=False),
        sa.Column("lease_token", sa.String(length=64), nullable=True),
        sa.Column("lease_until", core.sql.columns.Utc(), nullable=True),
        sa.Column("news_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("rung_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("cancel_requested_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("not_before", core.sql.columns.Utc(), nullable=True),
        sa.Column("submitted_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("deadline", core.sql.columns.Utc(), nullable=False),
        sa.Column("ended_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("kind in ('image', 'video', 'audio', 'model3d')", name=op.f("ck_orders_kind")),
        sa.CheckConstraint(
            "state in ('ordered', 'submitting', 'queued', 'running', 'succeeded', 'failed', 'cancelled', 'unresolved')",
            name=op.f("ck_orders_state"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_orders_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
        sa.UniqueConstraint("workspace_id", "key", name=op.f("uq_orders_workspace_id_key")),
    )
    with op.batch_alter_table("orders", schema=None) as batch_op:
        batch_op.create_index("ix_orders_open", ["workspace_id", "state", "news_at"], unique=False)
        batch_op.create_index("ix_orders_task", ["workspace_id", "task_id", "created_at"], unique=False)
        batch_op.create_index("ix_orders_upstream", ["provider", "upstream_id"], unique=False)

    op.create_table(
        "originals",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_originals_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_originals")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_originals_workspace_id_cause")),
    )
    op.create_table(
        "readings",
        sa.Column("message_id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("rung_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("read_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("state in ('due', 'read', 'given_up', 'revoked')", name=op.f("ck_readings_state")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_readings_workspace_id")),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_readings")),
    )
    with op.batch_alter_table("readings", schema=None) as batch_op:
        batch_op.create_index("ix_readings_due", ["workspace_id", "state", "due_at"], unique=False)

    op.create_table(
        "replies",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("endpoint", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.JSON(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_replies_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "key", name=op.f("pk_replies")),
    )
    op.create_table(
        "reservations",
        sa.Column("order_id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("skill_id", sa.String(length=64), nullable=True),
        sa.Column("amount", core.sql.columns.MoneyType(), nullable=False),
        sa.Column("charge", core.sql.columns.MoneyType(), nullable=True),
        sa.Column("contested", sa.String(length=120), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("card_id", sa.String(length=64), nullable=True),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("ended_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("state in ('held', 'settled', 'released')", name=op.f("ck_reservations_state")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_reservations_workspace_id")),
        sa.PrimaryKeyConstraint("order_id", name=op.f("pk_reservations")),
    )
    with op.batch_alter_table("reservations", schema=None) as batch_op:
        batch_op.create_index("ix_reservations_day", ["workspace_id", "day"], unique=False)
        batch_op.create_index("ix_reservations_task", ["workspace_id", "task_id"], unique=False)

    op.create_table(
        "roles",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.CheckConstraint("role in ('owner', 'member', 'viewer')", name=op.f("ck_roles_role")),
        sa.ForeignKeyConstraint(["person_id"], ["persons.id"], name=op.f("fk_roles_person_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_roles_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "person_id", name=op.f("pk_roles")),
    )
    op.create_table(
        "search_collections",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("model", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=160), nullable=False),
        sa.Column("made_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("compared_at", core.sql.columns.Utc(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_search_collections_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "model", name=op.f("pk_search_collections")),
    )
    op.create_table(
        "search_entries",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("room", sa.String(length=16), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("model", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.Column("stamp", sa.String(length=64), nullable=False),
        sa.Column("changed_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("indexed_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("removed_at", core.sql.columns.Utc(), nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_search_entries_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "room", "id", name=op.f("pk_search_entries")),
    )
    with op.batch_alter_table("search_entries", schema=None) as batch_op:
        batch_op.create_index(
            "ix_search_entries_model", ["workspace_id", "model", "removed_at", "indexed_at"], unique=False
        )
        batch_op.create_index(
            "ix_search_entries_pending",
            ["workspace_id", "changed_at"],
            unique=False,
            sqlite_where=sa.text("indexed_at IS NULL"),
            postgresql_where=sa.text("indexed_at IS NULL"),
        )

    op.create_table(
        "skill_claims",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("until", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_claims_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "skill_id", "key", name=op.f("pk_skill_claims")),
    )
    op.create_table(
        "skill_drafts",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("author", sa.String(length=16), nullable=False),
        sa.Column("author_ref", sa.String(length=160), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("base_id", sa.String(length=64), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_drafts_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "skill_id", "sha", "author_ref", name=op.f("pk_skill_drafts")),
    )
    op.create_table(
        "skill_grants",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("permission", sa.String(length=400), nullable=False),
        sa.Column("card_id", sa.String(length=64), nullable=False),
        sa.Column("granted_by", sa.String(length=64), nullable=False),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_grants_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "skill_id", "permission", name=op.f("pk_skill_grants")),
    )
    op.create_table(
        "skill_outcomes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("value", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=64), nullable=True),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_outcomes_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skill_outcomes")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_skill_outcomes_workspace_id_cause")),
    )
    with op.batch_alter_table("skill_outcomes", schema=None) as batch_op:
        batch_op.create_index("ix_skill_outcomes_skill", ["workspace_id", "skill_id", "at"], unique=False)

    op.create_table(
        "skill_refusals",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("version_id", sa.String(length=64), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("what", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_refusals_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skill_refusals")),
    )
    with op.batch_alter_table("skill_refusals", schema=None) as batch_op:
        batch_op.create_index("ix_skill_refusals_skill", ["workspace_id", "skill_id", "at"], unique=False)

    op.create_table(
        "skill_reviews",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version_id", sa.String(length=64), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.JSON(), nullable=True),
        sa.Column("prediction", sa.JSON(), nullable=True),
        sa.Column("comparison", sa.JSON(), nullable=True),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("state in ('requested', 'gathered', 'judged', 'done')", name=op.f("ck_skill_reviews_state")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_reviews_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skill_reviews")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_skill_reviews_workspace_id_cause")),
    )
    with op.batch_alter_table("skill_reviews", schema=None) as batch_op:
        batch_op.create_index("ix_skill_reviews_skill", ["workspace_id", "skill_id", "at"], unique=False)

    op.create_table(
        "skill_runs",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("function_id", sa.String(length=128), nullable=False),
        sa.Column("version_id", sa.String(length=64), nullable=False),
        sa.Column("handler", sa.Boolean(), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("event", sa.JSON(), nullable=False),
        sa.Column("output", sa.JSON(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column("began_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("called_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("ended_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint(
            "status in ('running', 'completed', 'failed', 'cancelled', 'lost')", name=op.f("ck_skill_runs_status")
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_runs_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "run_id", name=op.f("pk_skill_runs")),
    )
    with op.batch_alter_table("skill_runs", schema=None) as batch_op:
        batch_op.create_index("ix_skill_runs_quiet", ["workspace_id", "status", "called_at"], unique=False)
        batch_op.create_index("ix_skill_runs_skill", ["workspace_id", "skill_id", "began_at"], unique=False)
        batch_op.create_index("ix_skill_runs_version", ["workspace_id", "version_id", "status"], unique=False)

    op.create_table(
        "skill_starts",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("function_id", sa.String(length=128), nullable=False),
        sa.Column("schedule", sa.String(length=200), nullable=False),
        sa.Column("local_date", sa.String(length=10), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_starts_workspace_id")),
        sa.PrimaryKeyConstraint(
            "workspace_id", "skill_id", "function_id", "schedule", "local_date", name=op.f("pk_skill_starts")
        ),
    )
    op.create_table(
        "skill_versions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("skill_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha", sa.String(length=64), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("author", sa.String(length=16), nullable=False),
        sa.Column("author_ref", sa.String(length=160), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("manifest", sa.JSON(), nullable=False),
        sa.Column("functions", sa.JSON(), nullable=False),
        sa.Column("stage", sa.String(length=16), nullable=False),
        sa.Column("stage_facts", sa.JSON(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("active_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("author in ('shipped', 'person', 'agent')", name=op.f("ck_skill_versions_author")),
        sa.CheckConstraint(
            "stage in ('checked', 'waiting', 'dry_run', 'shadow', 'canary', 'active', 'superseded', 'rolled_back', 'quarantined', 'refused', 'retired')",
            name=op.f("ck_skill_versions_stage"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skill_versions_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skill_versions")),
        sa.UniqueConstraint(
            "workspace_id", "skill_id", "number", name=op.f("uq_skill_versions_workspace_id_skill_id_number")
        ),
        sa.UniqueConstraint(
            "workspace_id", "skill_id", "sha", name=op.f("uq_skill_versions_workspace_id_skill_id_sha")
        ),
    )
    op.create_table(
        "skills",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("version_id", sa.String(length=64), nullable=True),
        sa.Column("candidate_id", sa.String(length=64), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("problems", sa.JSON(), nullable=False),
        sa.Column("refused_sha", sa.String(length=64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("updated_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("origin in ('shipped', 'person', 'agent')", name=op.f("ck_skills_origin")),
        sa.CheckConstraint(
            "status in ('checking', 'refused', 'waiting', 'active', 'disabled', 'quarantined', 'retired')",
            name=op.f("ck_skills_status"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_skills_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_skills")),
    )
    op.create_table(
        "suppressions",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=80), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("card_id", sa.String(length=64), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_suppressions_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "scope", "fingerprint", name=op.f("pk_suppressions")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("brief", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("autonomy", sa.String(length=16), nullable=False),
        sa.Column("plan_budget", core.sql.columns.MoneyType(), nullable=True),
        sa.Column("plan_kinds", sa.JSON(), nullable=False),
        sa.Column("plan_count", sa.Integer(), nullable=True),
        sa.Column("plan_expires_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("asked_by", sa.String(length=16), nullable=False),
        sa.Column("idle_rounds", sa.Integer(), nullable=False),
        sa.Column("setbacks", sa.Integer(), nullable=False),
        sa.Column("approved_plan", sa.Integer(), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("updated_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("autonomy in ('step', 'checkpoint', 'plan')", name=op.f("ck_tasks_autonomy")),
        sa.CheckConstraint("kind in ('light', 'persistent')", name=op.f("ck_tasks_kind")),
        sa.CheckConstraint(
            "status in ('active', 'waiting', 'paused', 'blocked', 'done', 'stopped', 'archived')",
            name=op.f("ck_tasks_status"),
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_tasks_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_tasks_workspace_id_cause")),
    )
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index("ix_tasks_recent", ["workspace_id", "status", "updated_at"], unique=False)

    op.create_table(
        "checklist_steps",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("plan", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("acceptance", sa.Text(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("stale", sa.Boolean(), nullable=False),
        sa.Column("depends_on", sa.JSON(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("checkpoint", sa.Boolean(), nullable=False),
        sa.Column("mandatory", sa.Boolean(), nullable=False),
        sa.Column("updated_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint(
            "status in ('todo', 'doing', 'waiting', 'done', 'blocked', 'skipped')",
            name=op.f("ck_checklist_steps_status"),
        ),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_checklist_steps_task_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_checklist_steps_workspace_id")),
        sa.PrimaryKeyConstraint("task_id", "n", name=op.f("pk_checklist_steps")),
    )
    op.create_table(
        "evidence",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("fact_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("source_id", sa.String(length=200), nullable=False),
        sa.Column("eligible", sa.Boolean(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("kind in ('message', 'correction')", name=op.f("ck_evidence_kind")),
        sa.CheckConstraint("role in ('origin', 'refine', 'confirm')", name=op.f("ck_evidence_role")),
        sa.ForeignKeyConstraint(["fact_id"], ["facts.id"], name=op.f("fk_evidence_fact_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_evidence_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint(
            "workspace_id",
            "fact_id",
            "n",
            "kind",
            "source_id",
            name=op.f("uq_evidence_workspace_id_fact_id_n_kind_source_id"),
        ),
    )
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.create_index("ix_evidence_source", ["workspace_id", "kind", "source_id"], unique=False)

    op.create_table(
        "fact_versions",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("fact_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("standing", sa.String(length=16), nullable=False),
        sa.Column("valid_from", core.sql.columns.Utc(), nullable=False),
        sa.Column("valid_to", core.sql.columns.Utc(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("superseded_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("cleared_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("standing in ('stated', 'inferred')", name=op.f("ck_fact_versions_standing")),
        sa.ForeignKeyConstraint(["fact_id"], ["facts.id"], name=op.f("fk_fact_versions_fact_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_fact_versions_workspace_id")),
        sa.PrimaryKeyConstraint("fact_id", "n", name=op.f("pk_fact_versions")),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("ref_id", sa.String(length=160), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("turn_id", sa.String(length=64), nullable=True),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("consumed_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("kind in ('message', 'outcome', 'answer', 'object', 'skill')", name=op.f("ck_inbox_kind")),
        sa.CheckConstraint(
            "state in ('delivered', 'claimed', 'consumed', 'withdrawn', 'replaced', 'moved', 'superseded')",
            name=op.f("ck_inbox_state"),
        ),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_inbox_task_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_inbox_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_inbox")),
        sa.UniqueConstraint(
            "workspace_id", "task_id", "kind", "ref_id", name=op.f("uq_inbox_workspace_id_task_id_kind_ref_id")
        ),
    )
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.create_index("ix_inbox_ref", ["workspace_id", "kind", "ref_id"], unique=False)
        batch_op.create_index("ix_inbox_turn", ["workspace_id", "turn_id"], unique=False)
        batch_op.create_index("ix_inbox_unread", ["workspace_id", "task_id", "state", "created_at"], unique=False)

    op.create_table(
        "object_tasks",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("object_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=False),
        sa.Column("seen_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["object_id"], ["objects.id"], name=op.f("fk_object_tasks_object_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_object_tasks_workspace_id")),
        sa.PrimaryKeyConstraint("object_id", "task_id", name=op.f("pk_object_tasks")),
    )
    with op.batch_alter_table("object_tasks", schema=None) as batch_op:
        batch_op.create_index("ix_object_tasks_task", ["workspace_id", "task_id"], unique=False)

    op.create_table(
        "recalls",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("call_id", sa.String(length=160), nullable=False),
        sa.Column("fact_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["fact_id"], ["facts.id"], name=op.f("fk_recalls_fact_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_recalls_workspace_id")),
        sa.PrimaryKeyConstraint("workspace_id", "call_id", "fact_id", name=op.f("pk_recalls")),
    )
    with op.batch_alter_table("recalls", schema=None) as batch_op:
        batch_op.create_index("ix_recalls_fact", ["workspace_id", "fact_id"], unique=False)

    op.create_table(
        "routes",
        sa.Column("message_id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("reasons", sa.JSON(), nullable=False),
        sa.Column("candidates", sa.JSON(), nullable=False),
        sa.Column("object_ids", sa.JSON(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.CheckConstraint("level in ('explicit', 'object', 'semantic')", name=op.f("ck_routes_level")),
        sa.CheckConstraint("outcome in ('main', 'light', 'existing', 'new', 'ask')", name=op.f("ck_routes_outcome")),
        sa.ForeignKeyConstraint(["message_id"], ["messages.id"], name=op.f("fk_routes_message_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_routes_workspace_id")),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_routes")),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=True),
        sa.Column("message_id", sa.String(length=64), nullable=True),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("ring", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("lease_token", sa.String(length=64), nullable=True),
        sa.Column("lease_until", core.sql.columns.Utc(), nullable=True),
        sa.Column("touched_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("rung_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("started_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("ended_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint(
            "status in ('queued', 'running', 'completed', 'waiting', 'gated', 'stopped', 'failed')",
            name=op.f("ck_turns_status"),
        ),
        sa.CheckConstraint("(task_id is null) <> (message_id is null)", name=op.f("ck_turns_owner")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_turns_task_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_turns_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_turns_workspace_id_cause")),
    )
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.create_index("ix_turns_open_work", ["workspace_id", "status", "touched_at"], unique=False)
        batch_op.create_index("ix_turns_task", ["workspace_id", "task_id", "created_at"], unique=False)
        batch_op.create_index(
            "uq_turns_open",
            ["task_id"],
            unique=True,
            sqlite_where=sa.text("status in ('queued', 'running')"),
            postgresql_where=sa.text("status in ('queued', 'running')"),
        )

    op.create_table(
        "versions",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("object_id", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("media_type", sa.String(length=100), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=160), nullable=False),
        sa.Column("cause", sa.String(length=200), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["object_id"], ["objects.id"], name=op.f("fk_versions_object_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_versions_workspace_id")),
        sa.PrimaryKeyConstraint("object_id", "version", name=op.f("pk_versions")),
        sa.UniqueConstraint("workspace_id", "cause", name=op.f("uq_versions_workspace_id_cause")),
    )
    with op.batch_alter_table("versions", schema=None) as batch_op:
        batch_op.create_index("ix_versions_sha", ["workspace_id", "sha256"], unique=False)

    op.create_table(
        "waits",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("task_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("refs", sa.JSON(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("then", sa.Text(), nullable=False),
        sa.Column("deadline", core.sql.columns.Utc(), nullable=True),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.Column("ended_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("kind in ('generation', 'card', 'message', 'schedule')", name=op.f("ck_waits_kind")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_waits_task_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_waits_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waits")),
    )
    with op.batch_alter_table("waits", schema=None) as batch_op:
        batch_op.create_index(
            "uq_waits_open",
            ["task_id"],
            unique=True,
            sqlite_where=sa.text("ended_at is null"),
            postgresql_where=sa.text("ended_at is null"),
        )

    op.create_table(
        "calls",
        sa.Column("id", sa.String(length=160), nullable=False),
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("tool", sa.String(length=80), nullable=False),
        sa.Column("effect", sa.String(length=16), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("wish", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("ok", sa.Boolean(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("result_ref", sa.String(length=64), nullable=True),
        sa.Column("started_at", core.sql.columns.Utc(), nullable=True),
        sa.Column("finished_at", core.sql.columns.Utc(), nullable=True),
        sa.CheckConstraint("effect in ('read', 'write', 'paid', 'irreversible')", name=op.f("ck_calls_effect")),
        sa.CheckConstraint(
            "status in ('proposed', 'started', 'done', 'failed', 'cancelled', 'outcome_unknown')",
            name=op.f("ck_calls_status"),
        ),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_calls_turn_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_calls_workspace_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calls")),
        sa.UniqueConstraint("turn_id", "step", "seq", name=op.f("uq_calls_turn_id_step_seq")),
    )
    op.create_table(
        "steps",
        sa.Column("workspace_id", sa.String(length=64), nullable=False),
        sa.Column("turn_id", sa.String(length=64), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("layers", sa.JSON(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("cut", sa.Boolean(), nullable=False),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.Column("created_at", core.sql.columns.Utc(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name=op.f("fk_steps_turn_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("fk_steps_workspace_id")),
        sa.PrimaryKeyConstraint("turn_id", "n", name=op.f("pk_steps")),
    )


def downgrade() -> None:
    op.drop_table("steps")
    op.drop_table("calls")
    with op.batch_alter_table("waits", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_waits_open", sqlite_where=sa.text("ended_at is null"), postgresql_where=sa.text("ended_at is null")
        )

    op.drop_table("waits")
    with op.batch_alter_table("versions", schema=None) as batch_op:
        batch_op.drop_index("ix_versions_sha")

    op.drop_table("versions")
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_turns_open",
            sqlite_where=sa.text("status in ('queued', 'running')"),
            postgresql_where=sa.text("status in ('queued', 'running')"),
        )
        batch_op.drop_index("ix_turns_task")
        batch_op.drop_index("ix_turns_open_work")

    op.drop_table("turns")
    op.drop_table("routes")
    with op.batch_alter_table("recalls", schema=None) as batch_op:
        batch_op.drop_index("ix_recalls_fact")

    op.drop_table("recalls")
    with op.batch_alter_table("object_tasks", schema=None) as batch_op:
        batch_op.drop_index("ix_object_tasks_task")

    op.drop_table("object_tasks")
    with op.batch_alter_table("inbox", schema=None) as batch_op:
        batch_op.drop_index("ix_inbox_unread")
        batch_op.drop_index("ix_inbox_turn")
        batch_op.drop_index("ix_inbox_ref")

    op.drop_table("inbox")
    op.drop_table("fact_versions")
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.drop_index("ix_evidence_source")

    op.drop_table("evidence")
    op.drop_table("checklist_steps")
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.drop_index("ix_tasks_recent")

    op.drop_table("tasks")
    op.drop_table("suppressions")
    op.drop_table("skills")
    op.drop_table("skill_versions")
    op.drop_table("skill_starts")
    with op.batch_alter_table("skill_runs", schema=None) as batch_op:
        batch_op.drop_index("ix_skill_runs_version")
        batch_op.drop_index("ix_skill_runs_skill")
        batch_op.drop_index("ix_skill_runs_quiet")

    op.drop_table("skill_runs")
    with op.batch_alter_table("skill_reviews", schema=None) as batch_op:
        batch_op.drop_index("ix_skill_reviews_skill")

    op.drop_table("skill_reviews")
    with op.batch_alter_table("skill_refusals", schema=None) as batch_op:
        batch_op.drop_index("ix_skill_refusals_skill")

    op.drop_table("skill_refusals")
    with op.batch_alter_table("skill_outcomes", schema=None) as batch_op:
        batch_op.drop_index("ix_skill_outcomes_skill")

    op.drop_table("skill_outcomes")
    op.drop_table("skill_grants")
    op.drop_table("skill_drafts")
    op.drop_table("skill_claims")
    with op.batch_alter_table("search_entries", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_search_entries_pending",
            sqlite_where=sa.text("indexed_at IS NULL"),
            postgresql_where=sa.text("indexed_at IS NULL"),
        )
        batch_op.drop_index("ix_search_entries_model")

    op.drop_table("search_entries")
    op.drop_table("search_collections")
    op.drop_table("roles")
    with op.batch_alter_table("reservations", schema=None) as batch_op:
        batch_op.drop_index("ix_reservations_task")
        batch_op.drop_index("ix_reservations_day")

    op.drop_table("reservations")
    op.drop_table("replies")
    with op.batch_alter_table("readings", schema=None) as batch_op:
        batch_op.drop_index("ix_readings_due")

    op.drop_table("readings")
    op.drop_table("originals")
    with op.batch_alter_table("orders", schema=None) as batch_op:
        batch_op.drop_index("ix_orders_upstream")
        batch_op.drop_index("ix_orders_task")
        batch_op.drop_index("ix_orders_open")

    op.drop_table("orders")
    with op.batch_alter_table("objects", schema=None) as batch_op:
        batch_op.drop_index("ix_objects_list")

    op.drop_table("objects")
    with op.batch_alter_table("notices", schema=None) as batch_op:
        batch_op.drop_index("ix_notices_unsent")

    op.drop_table("notices")
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.drop_index("ix_messages_unrouted")
        batch_op.drop_index("ix_messages_turn")
        batch_op.drop_index("ix_messages_thread")
        batch_op.drop_index("ix_messages_task")
        batch_op.drop_index("ix_messages_reply_to")

    op.drop_table("messages")
    op.drop_table("keys")
    with op.batch_alter_table("forgets", schema=None) as batch_op:
        batch_op.drop_index("ix_forgets_undone")

    op.drop_table("forgets")
    with op.batch_alter_table("facts", schema=None) as batch_op:
        batch_op.drop_index("ix_facts_recent")

    op.drop_table("facts")
    op.drop_table("entries")
    op.drop_table("channels")
    op.drop_table("changes")
    with op.batch_alter_table("cards", schema=None) as batch_op:
        batch_op.drop_index("ix_cards_task")
        batch_op.drop_index("ix_cards_open")

    op.drop_table("cards")
    with op.batch_alter_table("candidates", schema=None) as batch_op:
        batch_op.drop_index("ix_candidates_pending")

    op.drop_table("candidates")
    op.drop_table("budgets")
    op.drop_table("workspaces")
    op.drop_table("persons")
    op.drop_table("leases")
