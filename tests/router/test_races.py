"""A message is read and moved at the same moment: exactly one of the two happens, and nobody waits in a circle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from core.errors import ConflictError
from router import dispatch, judgement
from router.reroute import reroute_message
from runtime.commands import withdrawal
from runtime.inbox import inbox
from runtime.inbox.messages import Message
from runtime.tables import turns
from runtime.tasks import tasks
from tests.router.world import RouterWorld, scripted, verdict
from tests.support.databases import Store

ROUNDS = 8


def read(world: RouterWorld, message: Message, start: threading.Barrier) -> bool:
    """What the decision of a turn does with its inbox, in the order of its locks; tells whether it got the message."""
    start.wait(10)
    with world.store.database.transaction(world.workspace_id) as scope:
        row = scope.first(scope.select(turns).where(turns.c.task_id == message.task_id).with_for_update())
        assert row is not None
        tasks.lock_task(scope, str(message.task_id))
        items = inbox.claim_inbox(scope, str(message.task_id), row.id, 1)
        inbox.consume_inbox(scope, items, row.id, 1)
        return bool(items)


def move(world: RouterWorld, message: Message, target: str, start: threading.Barrier) -> bool:
    start.wait(10)
    try:
        with world.store.database.transaction(world.workspace_id) as scope:
            reroute_message(scope, world.dependencies.works, message.id, target)
    except ConflictError:
        return False
    return True


def test_reading_and_moving(store: Store) -> None:
    world, _ = scripted(store)
    with ThreadPoolExecutor(2) as pool:
        for n in range(ROUNDS):
            world.foresee(verdict("new"))
            message = world.route(world.say(f"Paint the harbour in style number {n}, as a triptych for the museum"))
            target = world.task(f"Target {n}")
            start = threading.Barrier(2)
            reading, moving = (
                pool.submit(read, world, message, start),
                pool.submit(move, world, message, target.id, start),
            )
            was_read, was_moved = reading.result(60), moving.result(60)
            assert was_read != was_moved
            after = world.message(message.id)
            assert after.state == ("consumed" if was_read else "delivered")
            assert after.task_id == (message.task_id if was_read else target.id)
            with store.database.transaction(store.workspace_id) as scope:
                tasks.set_task_fields(scope, str(message.task_id), status="archived")


def withdraw(world: RouterWorld, message: Message, start: threading.Barrier) -> None:
    start.wait(10)
    with world.store.database.transaction(world.workspace_id) as scope:
        withdrawal.withdraw_message(scope, message.id)


def test_delivering_and_taking_back(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")
    with ThreadPoolExecutor(2) as pool:
        for n in range(ROUNDS):
            message = world.say(f"note {n}", to_task_id=task.id)
            judgement.pick_message(world.dependencies, world.workspace_id, message.id)
            start = threading.Barrier(2)

            def deliver(message: Message = message, start: threading.Barrier = start) -> None:
                start.wait(10)
                dispatch.dispatch_message(world.dependencies, world.workspace_id, message.id)

            for one in (pool.submit(deliver), pool.submit(withdraw, world, message, start)):
                one.result(60)
            # nobody has read it, so it can always be taken back, wherever it has got to
            assert world.message(message.id).state == "withdrawn"
    assert {state for _, state in world.inbox_of(task.id)} <= {"withdrawn"}


def test_two_deliveries_of_one_decision(store: Store) -> None:
    world, _ = scripted(store)
    task = world.task("Posters")

    def deliver(message: Message, start: threading.Barrier) -> str:
        start.wait(10)
        return dispatch.dispatch_message(world.dependencies, world.workspace_id, message.id)

    with ThreadPoolExecutor(2) as pool:
        for n in range(ROUNDS):
            message = world.say(f"note {n}", to_task_id=task.id)
            judgement.pick_message(world.dependencies, world.workspace_id, message.id)
            start = threading.Barrier(2)
            states = [one.result(60) for one in [pool.submit(deliver, message, start) for _ in range(2)]]
            assert states == ["delivered", "delivered"]
    assert len(world.inbox_of(task.id)) == ROUNDS
    assert len(world.open_turns()) == 1
