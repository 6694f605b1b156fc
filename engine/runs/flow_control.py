"""Flow control of a function: concurrency keys, priority, idempotency, rate limits and throttles of its runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select, text

from engine.event import EngineEvent
from engine.expressions import Expression
from engine.formats.json_text import dumps
from engine.function import Function, RateRule
from engine.storage.coordination import lock_name
from engine.storage.slots import Limit
from engine.storage.tables import gates
from engine.storage.transaction import Transaction

_MAX_PRIORITY_S = 600
_MARK_SEEN = text(
    "INSERT INTO engine_seen (function_id, key, run_id, until) VALUES (:function, :key, '', :until) "
    "ON CONFLICT (function_id, key) DO UPDATE SET until = excluded.until WHERE engine_seen.until <= :now"
)
_FREE_AT = select(gates.c.free_at).where(gates.c.key == bindparam("gate")).with_for_update()
_SET_FREE = text(
    "INSERT INTO engine_gates (key, free_at) VALUES (:gate, :free_at) "
    "ON CONFLICT (key) DO UPDATE SET free_at = excluded.free_at"
)


def key_value(expression: Expression | None, event: EngineEvent) -> str:
    """Return the value of a key expression as text; the empty text, shared by all events, when there is no key."""
    return "" if expression is None else dumps(_evaluate(expression, event))


def concurrency_limits(function: Function, event: EngineEvent) -> list[Limit]:
    """Return the limits against which every call of a run started by this event counts."""
    found: list[Limit] = []
    for index, entry in enumerate(function.concurrency):
        if entry.limit == 0:
            continue
        scope = (
            f"fn:{function.id}:{index}"
            if entry.scope == "fn"
            else f"{entry.scope}:{entry.key.text if entry.key else ''}"
        )
        found.append((f"{scope}:{key_value(entry.key, event)}", entry.limit))
    return found


def priority_ms(function: Function, event: EngineEvent) -> int:
    """Return by how much a run is queued earlier because of its priority, at most ten minutes either way."""
    if function.priority is None:
        return 0
    value = _evaluate(function.priority, event)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return round(min(max(value, -_MAX_PRIORITY_S), _MAX_PRIORITY_S) * 1000)


def _evaluate(expression: Expression, event: EngineEvent) -> Any:
    return expression.evaluate({"event": event.body})


def mark_first_time(tx: Transaction, function: Function, event: EngineEvent) -> bool:
    """Mark the event's id and its idempotency key as seen; False when one of them already was, within the last day."""
    if event.dedup is not None and not _mark(tx, function, f"id:{event.dedup}"):
        return False
    return function.idempotency is None or _mark(tx, function, f"key:{key_value(function.idempotency, event)}")


def mark_tick(tx: Transaction, function: Function, cron: str, tick_ms: int) -> bool:
    """Mark a tick of a schedule as seen; False when it already started a run."""
    return _mark(tx, function, f"cron:{tick_ms}:{cron}")


def pass_rate_limit(tx: Transaction, function: Function, event: EngineEvent) -> bool:
    """Count the event against the rate limit; False when it must be dropped."""
    rate = function.rate_limit
    if rate is None:
        return True
    gate = f"rate:{function.id}:{key_value(rate.key, event)}"
    free_at = _lock_gate(tx, gate)
    if free_at - tx.now > rate.burst * rate.period_ms // rate.limit:
        return False
    _take_from_gate(tx, gate, rate, free_at)
    return True


def throttled_until(tx: Transaction, function: Function, event: EngineEvent) -> int:
    """Return when the throttle lets a run of this event start; each call takes the next free time."""
    rate = function.throttle
    if rate is None:
        return tx.now
    gate = f"throttle:{function.id}:{key_value(rate.key, event)}"
    free_at = _lock_gate(tx, gate)
    _take_from_gate(tx, gate, rate, free_at)
    allowance = (rate.limit + rate.burst - 1) * rate.period_ms // rate.limit
    return max(tx.now, free_at - allowance)


def _lock_gate(tx: Transaction, gate: str) -> int:
    """Lock the gate of a rate and return when it is free: its theoretical arrival time (GCRA), now or later."""
    lock_name(tx, gate)
    return max(tx.run(_FREE_AT, {"gate": gate}).scalar() or 0, tx.now)


def _take_from_gate(tx: Transaction, gate: str, rate: RateRule, free_at: int) -> None:
    tx.run_later(_SET_FREE, {"gate": gate, "free_at": free_at + rate.period_ms // rate.limit})


def _mark(tx: Transaction, function: Function, key: str) -> bool:
    until = tx.now + tx.settings.seen_ms
    return tx.change(_MARK_SEEN, {"function": function.id, "key": key, "until": until, "now": tx.now}) > 0
