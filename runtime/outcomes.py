"""What the end of an order means for its task: input, the end of a wait, and at most one turn."""

from __future__ import annotations

from collections.abc import Collection

from core.database import Scope
from runtime import inbox, tasks, waits
from runtime.cards import RESULT_OPTIONS, open_card
from runtime.tasks import Task
from runtime.wake import wake


def arrived(scope: Scope, task_id: str | None, order_id: str, open_orders: Collection[str], *, succeeded: bool) -> None:
    """Called in the transaction that makes an order final.

    `open_orders` are the task's orders that are still not final. The transaction that makes the last awaited one
    final queues the turn, once; a stopped task gets no input and is not woken; a light task is done without a turn.
    """
    if task_id is None:
        return
    task = tasks.lock(scope, task_id)
    scope.changed("task", task_id)
    if task.status in tasks.ENDED:
        return
    if task.kind == "light" and succeeded:
        _finish_light(scope, task, order_id, open_orders)
        return
    inbox.put(scope, task_id, "outcome", order_id)
    wait = waits.current(scope, task_id)
    if wait is not None and wait.kind == "generation" and set(wait.refs) & (set(open_orders) - {order_id}):
        return
    waits.end(scope, task_id)
    wake(scope, task_id, f"outcome:{order_id}")


def _finish_light(scope: Scope, task: Task, order_id: str, open_orders: Collection[str]) -> None:
    if set(open_orders) - {order_id}:
        return
    waits.end(scope, task.id)
    tasks.set_fields(scope, task.id, status="done", reason="")
    open_card(
        scope,
        kind="result",
        title=task.goal[:120],
        body="",
        options=RESULT_OPTIONS,
        cause=f"result:{order_id}",
        task_id=task.id,
        subject={"order_id": order_id},
    )
