"""The engine's tables. Times are milliseconds since the epoch; JSON is text."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, String, Table, Text, text

metadata = MetaData()

# Most items lack these, and an index of the others costs those nothing.
_BLOCKED_ON, _SUBJECT = text("blocked_on IS NOT NULL"), text("subject IS NOT NULL")

apps = Table(
    "engine_apps",
    metadata,
    Column("name", String, primary_key=True),
    Column("id", String, nullable=False),
    Column("url", Text, nullable=False),
    Column("sdk", String, nullable=False),
    Column("framework", String, nullable=False),
    Column("version", String, nullable=False),
    Column("checksum", String, nullable=False),
    Column("sync_id", String, nullable=False),
    Column("synced_at", BigInteger, nullable=False),
)

functions = Table(
    "engine_functions",
    metadata,
    Column("slug", String, primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("app", String, nullable=False),
    Column("config", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

marks = Table(
    "engine_marks",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
"""Single numbers: `registry` grows with every change of apps and functions."""

events = Table(
    "engine_events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("internal", Boolean, nullable=False),
    Column("body", Text, nullable=False),
    Column("ts", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Index("engine_events_id", "id"),
    Index("engine_events_name", "name", "seq"),
    Index("engine_events_received", "received_at"),
)
"""`id` is not unique: a sender that repeats a request with its seed gets the same ids, and both copies are kept."""

runs = Table(
    "engine_runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("function_id", String, nullable=False),
    Column("function_version", Integer, nullable=False),
    Column("event_id", String, nullable=False),
    Column("event_name", String, nullable=False),
    Column("batch_id", String),
    Column("cron", String),
    Column("status", String, nullable=False),
    Column("queued_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("output", Text),
    Column("events", Text, nullable=False),
    Column("state_size", BigInteger, nullable=False),
    Column("stack_len", Integer, nullable=False),
    Column("plan_only", Boolean, nullable=False),
    Column("sdk_version", Integer, nullable=False),
    Column("limits", Text, nullable=False),
    Column("priority_ms", BigInteger, nullable=False),
    Column("singleton", String),
    Index("engine_runs_function", "function_id", "id"),
    Index("engine_runs_status", "function_id", "status", "id"),
    Index("engine_runs_event", "event_id"),
    Index("engine_runs_ended", "ended_at"),
    Index("engine_runs_singleton", "singleton"),
)
"""`status` is one of QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED; `limits` is a list of [key, limit]."""

run_events = Table(
    "engine_run_events",
    metadata,
    Column("event_id", String, primary_key=True),
    Column("run_id", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Index("engine_run_events_run", "run_id"),
)
"""The events of a batch; a run of one event has it in its own row only."""

steps = Table(
    "engine_steps",
    metadata,
    Column("run_id", String, primary_key=True),
    Column("step_id", String, primary_key=True),
    Column("op", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("race", Boolean, nullable=False),
    Column("position", Integer),
    Column("status", String, nullable=False),
    Column("memo", Text),
    Column("attempt", Integer, nullable=False),
    Column("queued_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Index("engine_steps_open", "run_id", "position"),
)
"""`position` is the place on the run's stack, null until the step is done; `memo` is what the SDK is shown then."""

attempts = Table(
    "engine_attempts",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("run_id", String, nullable=False),
    Column("step_id", String, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Index("engine_attempts_run", "run_id"),
)
"""Failed tries that were followed by another; `step_id` is empty for the function's own code."""

items = Table(
    "engine_items",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("state", Integer, nullable=False),
    Column("owner", String),
    Column("due_at", BigInteger, nullable=False),
    Column("rank", BigInteger, nullable=False),
    Column("run_id", String),
    Column("step_id", String),
    Column("subject", String),
    Column("attempt", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("limits", Text),
    Column("blocked_on", String),
    Column("body", Text),
    Column("created_at", BigInteger, nullable=False),
    Index("engine_items_due", "state", "due_at"),
    Index("engine_items_run", "run_id", "step_id"),
    Index("engine_items_blocked", "blocked_on", "rank", sqlite_where=_BLOCKED_ON, postgresql_where=_BLOCKED_ON),
    Index("engine_items_subject", "subject", sqlite_where=_SUBJECT, postgresql_where=_SUBJECT),
    Index("engine_items_owner", "owner"),
    sqlite_with_rowid=False,
)
"""The queue. `state`: 0 waits for its time, 1 is claimed by `owner`, 2 waits for a slot of `blocked_on`."""

slots = Table(
    "engine_slots",
    metadata,
    Column("key", String, primary_key=True),
    Column("item_id", String, primary_key=True),
    Index("engine_slots_item", "item_id"),
)
"""Who counts against a concurrency limit."""

pauses = Table(
    "engine_pauses",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("event_name", String, nullable=False),
    Column("match_path", String, nullable=False),
    Column("match_value", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("step_id", String),
    Column("expression", Text),
    Column("event", Text),
    Column("expires_at", BigInteger, nullable=False),
    Index("engine_pauses_match", "event_name", "match_path", "match_value"),
    Index("engine_pauses_run", "run_id", "step_id"),
)
"""What waits for an event: `wait`, `cancel`, `invoke`; `match_value` is what it must have at `match_path`."""

seen = Table(
    "engine_seen",
    metadata,
    Column("function_id", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("run_id", String, nullable=False),
    Column("until", BigInteger, nullable=False),
    Index("engine_seen_until", "until"),
)
"""Event ids and idempotency keys that already started a run of a function."""

gates = Table(
    "engine_gates",
    metadata,
    Column("key", String, primary_key=True),
    Column("free_at", BigInteger, nullable=False),
    Index("engine_gates_free", "free_at"),
)
"""Theoretical arrival times of rate limits and throttles."""

held = Table(
    "engine_held",
    metadata,
    Column("key", String, primary_key=True),
    Column("event_id", String, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("engine_held_order", "key", "position"),
)
"""Events that wait in a debounce or a batch, by the subject of its queue item."""

missed = Table(
    "engine_missed",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("function_id", String, nullable=False),
    Column("cron", String, nullable=False),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("ticks", Integer, nullable=False),
    Column("run_id", String),
    Column("noted_at", BigInteger, nullable=False),
    Index("engine_missed_function", "function_id", "seq"),
    Index("engine_missed_run", "run_id"),
    Index("engine_missed_noted", "noted_at"),
)
"""Ticks of a schedule that passed while no engine ran: one that ran late has its `run_id`, the others were skipped."""

owners = Table(
    "engine_owners",
    metadata,
    Column("id", String, primary_key=True),
    Column("lease_until", BigInteger, nullable=False),
)
"""Engine processes at work on this database."""
