"""Watch pass over the memory: ring again for messages and forgets that lost their bell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from core.database import Database, Scope
from memory import candidates, readings, receipts
from memory.receipts import Receipt
from runtime.recovery import run_repair

_PATIENCE = 6
"""Pauses that a due message waits before it is rung for again: the function that reads it is debounced."""
_GIVEN_UP = timedelta(days=1)


def watch_memory(database: Database, workspace_id: str, pause: timedelta) -> int:
    """Make one pass over a workspace, and return how many repairs it made. An error in one does not stop the pass."""
    with database.reading(workspace_id) as scope:
        before = scope.now - pause * _PATIENCE
        due = readings.waiting_since(scope, before) or candidates.sources_of_waiting(scope, before)
        undone = receipts.undone_since(scope, scope.now - pause)
        found: list[Callable[[Scope], object]] = [
            _repair_for_forget(one) for one in undone if _is_quiet(scope, one, pause)
        ]
        if due:
            found += [partial(_ring_for_messages, due), _give_up_late_candidates]
    return sum(run_repair(database, workspace_id, act) for act in found)


def _ring_for_messages(message_ids: list[str], scope: Scope) -> None:
    minute = int(scope.now.timestamp()) // 60
    readings.ring_again(scope, message_ids, f"{message_ids[0]}:ring-{minute}")


def _give_up_late_candidates(scope: Scope) -> bool:
    return candidates.give_up_candidates(scope, scope.now - _GIVEN_UP) > 0


def _repair_for_forget(receipt: Receipt) -> Callable[[Scope], bool]:
    return partial(_ring_for_forget, receipt)


def _ring_for_forget(receipt: Receipt, scope: Scope) -> bool:
    return receipts.ring_for_receipt(scope, receipt)


def _is_quiet(scope: Scope, receipt: Receipt, pause: timedelta) -> bool:
    return bool(receipt.rung_at < scope.now - pause * 2 ** min(receipt.ring, 6))
