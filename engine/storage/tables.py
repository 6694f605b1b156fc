"""Tables of the engine's database. Times are milliseconds since the epoch, JSON is text."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, MetaData, String, Table, Text, text

metadata = MetaData()

# Most items lack these columns; partial indexes leave those items out.
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
"""Numbers by name: `registry` grows with every change of apps and functions, `schema` is that of the tables."""

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

QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED = "QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"
RUN_STATUSES = (QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED)
ENDED = frozenset({COMPLETED, FAILED, CANCELLED})

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
"""`status` is one of `RUN_STATUSES`; `events` are the events that started the run; `limits` is a list of [key, limit].

`stack_len` counts the steps that are done; `plan_only` makes the SDK report steps without running them.
`sdk_version` is -1 until the app's first answer.
"""

run_events = Table(
    "engine_run_events",
    metadata,
    Column("event_id", String, primary_key=True),
    Column("run_id", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Index("engine_run_events_run", "run_id"),
)
"""The events of batches; a run of a single event has it in its row only."""

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
"""`position` is the place on the run's stack, null until the step is done; `memo` is then its result for the SDK."""

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
"""Failed attempts that were followed by another; `step_id` is empty for the code outside of steps."""

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
"""The queue. `state`: 0 waits until `due_at`, 1 is claimed by `owner`, 2 is parked until `blocked_on` has a slot."""

slots = Table(
    "engine_slots",
    metadata,
    Column("key", String, primary_key=True),
    Column("item_id", String, primary_key=True),
    Index("engine_slots_item", "item_id"),
)
"""Items that count against a concurrency limit."""

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
"""Steps and runs that wait for an event; `match_value` is the value that it must have at `match_path`."""

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
"""Rate limits and throttles: when each is free again (its theoretical arrival time)."""

held = Table(
    "engine_held",
    metadata,
    Column("key", String, primary_key=True),
    Column("event_id", String, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("engine_held_order", "key", "position"),
)
"""Events of a debounce or a batch that has not started a run; `key` is the subject of its queue item."""

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
"""Ticks that passed while no engine ran; those without a `run_id` were skipped, the others ran late."""

owners = Table(
    "engine_owners",
    metadata,
    Column("id", String, primary_key=True),
    Column("lease_until", BigInteger, nullable=False),
)
"""Engine processes that work on this database."""
