"""Outcome of an order: store it as input of its task, end the wait, and queue at most one turn."""

from __future__ import annotations

from collections.abc import Collection

from core.database import Scope
from runtime.cards.cards import RESULT_OPTIONS, open_card
from runtime.inbox import inbox
from runtime.inbox.turn_queue import wake_task
from runtime.statuses import ENDED_TASK_STATUSES, CardKind, InputKind, TaskStatus, WaitKind
from runtime.tasks import tasks, waits
from runtime.tasks.tasks import Task


def record_order_outcome(
    scope: Scope, task_id: str | None, order_id: str, open_orders: Collection[str], *, succeeded: bool
) -> None:
    """Record that an order is final, in the transaction that makes it so.

    `open_orders` are the task's orders that are not final yet; the last awaited one queues the turn. A task that has
    ended gets no input and is not woken. A light task is done without a turn, once its last order
    has succeeded.
    """
    if task_id is None:
        return
    task = tasks.lock_task(scope, task_id)
    scope.changed("task", task_id)
    if task.status in ENDED_TASK_STATUSES:
        return
    if task.kind == "light" and succeeded:
        _finish_light_task(scope, task, order_id, open_orders)
        return
    inbox.store_input(scope, task_id, InputKind.OUTCOME, order_id)
    wait = waits.find_wait(scope, task_id)
    if wait is not None and wait.kind == WaitKind.GENERATION and set(wait.refs) & (set(open_orders) - {order_id}):
        return
    waits.end_wait(scope, task_id)
    wake_task(scope, task_id, f"outcome:{order_id}")


def _finish_light_task(scope: Scope, task: Task, order_id: str, open_orders: Collection[str]) -> None:
    if set(open_orders) - {order_id}:
        return
    waits.end_wait(scope, task.id)
    tasks.set_task_fields(scope, task.id, status=TaskStatus.DONE, reason="")
    open_card(
        scope,
        kind=CardKind.RESULT,
        title=task.goal[:120],
        body="",
        options=RESULT_OPTIONS,
        cause=f"result:{order_id}",
        task_id=task.id,
        subject={"order_id": order_id},
    )
