"""What holds at every moment, whatever dies, doubles or comes late."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from generation.orders.states import OrderState
from generation.tables import orders
from runtime.limits import credits
from runtime.tables import cards, entries, inbox, messages, reservations, steps, tasks, turns
from tests.properties.world import FREE, PropertyWorld

OPEN_STATES = ("ordered", "submitting", "queued", "running")


class Shadow:
    """What was once true and may not change: who read what, which task was stopped with how many orders, and which
    orders had no job when their end was wished for."""

    def __init__(self) -> None:
        self.read_by: dict[str, tuple[str, int]] = {}
        self.orders_at_stop: dict[str, int] = {}
        self.unsent_at_end: set[str] = set()


def check_money(world: PropertyWorld) -> None:
    """Every held or charged amount belongs to one order that a rule or a person authorised."""
    budget = world.read(credits.read_budget)
    held = [row for row in world.rows(reservations) if row.state == "held"]
    assert budget.reserved == sum((row.amount for row in held), Decimal(0))
    assert budget.reserved >= 0
    assert budget.available >= 0
    signs = {"grant": 1, "settle": -1}
    assert budget.balance == sum((row.amount * signs.get(row.kind, 0) for row in world.rows(entries)), Decimal(0))
    by_id = {row.id: row for row in world.rows(orders)}
    answered = {row.id: row for row in world.rows(cards) if row.state == "answered"}
    for row in world.rows(reservations):
        order = by_id[row.order_id]
        assert row.amount == order.quote
        if row.card_id is None:
            assert row.amount <= FREE, f"{row.order_id} was ordered for {row.amount} without a card"
        else:
            card = answered[row.card_id]
            assert card.answer_option in ("approve", "raise")
            assert order.call_id in str(card.subject)
    for row in held:
        assert by_id[row.order_id].state in (*OPEN_STATES, "unresolved"), f"{row.order_id} holds money after its end"
    booked = Counter((row.order_id, row.kind) for row in world.rows(entries) if row.order_id)
    assert all(count == 1 for count in booked.values()), booked
    assert all((order_id, "reserve") in booked for order_id, _ in booked)


def check_orders(world: PropertyWorld) -> None:
    """One order a call, one job an order, one charge a job, and no job that nobody ordered."""
    found = world.rows(orders)
    calls = Counter(row.call_id for row in found)
    assert all(count == 1 for count in calls.values()), calls
    keys = {row.key: row for row in found}
    jobs = Counter(job.key for job in world.upstream.jobs)
    assert all(count == 1 for count in jobs.values()), f"one order made several jobs: {jobs}"
    assert set(jobs) <= set(keys)
    assert all(job.charges <= 1 for job in world.upstream.jobs)
    for job in world.upstream.jobs:
        if keys[job.key].state == OrderState.SUCCEEDED:
            assert job.charges == 1, "a success that the provider knows nothing of"
    for row in found:
        assert row.state != OrderState.SUCCEEDED or len(row.object_ids) == 1
        assert row.state != OrderState.SUCCEEDED or row.charge == row.quote


def check_ends(world: PropertyWorld, shadow: Shadow) -> None:
    """No job is begun for an order whose task was stopped, or whose end was wished for, before it had one."""
    begun = {job.key for job in world.upstream.jobs} & shadow.unsent_at_end
    assert not begun, f"begun after their end was wished for: {begun}"
    over = {row.id for row in world.rows(tasks) if row.status in ("stopped", "archived")}
    jobs = {job.key for job in world.upstream.jobs}
    for row in world.rows(orders):
        if (row.task_id in over or row.cancel_requested_at is not None) and row.key not in jobs:
            shadow.unsent_at_end.add(row.key)


def check_messages(world: PropertyWorld, shadow: Shadow) -> None:
    """A message is read once, by a step that is stored, or stands unread where somebody will find it."""
    stored = {(row.turn_id, row.n) for row in world.rows(steps)}
    items = {row.ref_id: row for row in world.rows(inbox) if row.kind == "message"}
    for row in items.values():
        if row.state == "consumed":
            reader = (row.turn_id, row.step)
            assert reader in stored, f"{row.ref_id} was read by a step that does not exist"
            assert shadow.read_by.setdefault(row.ref_id, reader) == reader, f"{row.ref_id} was read twice"
        else:
            assert row.ref_id not in shadow.read_by, f"{row.ref_id} was read and is {row.state}"
    for message in world.rows(messages):
        if message.author != "user":
            continue
        if message.state in ("withdrawn", "replaced"):
            assert message.id not in shadow.read_by
        elif message.state in ("consumed", "delivered") and message.to_task_id:
            assert message.id in items, f"{message.id} is {message.state} and in no inbox"


def check_blocked(world: PropertyWorld) -> None:
    """A task that is blocked has read, or failed to read, all that has come since its last turn began."""
    last = {row.task_id: row for row in sorted(world.rows(turns), key=lambda row: (row.created_at, row.id))}
    blocked = {row.id for row in world.rows(tasks) if row.status == "blocked"}
    for item in world.rows(inbox):
        if item.task_id in blocked and item.state == "delivered":
            turn = last[item.task_id]
            assert turn.status == "failed", f"{item.ref_id} is unread and no turn has failed on it"
            assert item.turn_id == turn.id or item.created_at <= turn.started_at, f"{item.ref_id} was left unread"


def check_turns(world: PropertyWorld, shadow: Shadow) -> None:
    """At most one open turn a task, none for a task that was stopped, and nothing new for it either."""
    found = world.rows(turns)
    open_of = Counter(row.task_id for row in found if row.status in ("queued", "running"))
    assert all(count == 1 for count in open_of.values()), open_of
    statuses = {row.id: row.status for row in world.rows(tasks)}
    asking = {row.task_id for row in world.rows(cards) if row.state == "open"}
    ordered = Counter(row.task_id for row in world.rows(orders))
    for task_id, count in shadow.orders_at_stop.items():
        assert statuses[task_id] == "stopped"
        assert task_id not in open_of
        assert task_id not in asking
        assert ordered[task_id] == count, "something was ordered for a task after it was stopped"


def check_quiet(world: PropertyWorld) -> None:
    """After people have answered, providers have recovered and the watch has had its time, nothing is left over."""
    assert not [row.id for row in world.rows(turns) if row.status in ("queued", "running")], "open turns"
    assert not [row.id for row in world.rows(messages) if row.state in ("received", "routed")], "unrouted messages"
    left = [(row.id, row.state) for row in world.rows(orders) if row.state in OPEN_STATES]
    assert not left, f"open orders: {left}"
    over = {row.id for row in world.rows(tasks) if row.status in ("stopped", "archived")}
    unread = [row.ref_id for row in world.rows(inbox) if row.state in ("delivered", "claimed")]
    assert not [ref for ref, task in _tasks_of(world).items() if ref in unread and task not in over], "unread input"
    # A task that was never woken has lost its only message before it was delivered.
    begun = {row.task_id for row in world.rows(turns)}
    resting = [row.status for row in world.rows(tasks) if row.id in begun]
    assert set(resting) <= {"done", "stopped", "blocked"}, resting
    known = {row.key: row for row in world.rows(orders)}
    for job in world.upstream.jobs:
        if job.charges and known[job.key].state != OrderState.UNRESOLVED:
            assert known[job.key].charge == job.cost, f"{job.id} was charged and is not in our books"


def _tasks_of(world: PropertyWorld) -> dict[str, str]:
    return {row.ref_id: row.task_id for row in world.rows(inbox)}
