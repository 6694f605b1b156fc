"""One order, from the call to the work, without an engine."""

from __future__ import annotations

from decimal import Decimal

import workspace.objects
from generation.states import State
from runtime import credits, inbox
from tests.generation.world import Studio, World


def test_an_order_becomes_one_work_and_one_charge(world: World, the_studio: Studio) -> None:
    task = world.task()
    order = world.order(task, world.turn(task), prompt="HARBOUR FESTIVAL, navy and cream", size="1024x1536")
    assert (order.state, order.quote) == (State.ORDERED, Decimal("0.04"))

    ended = world.follow(order)

    assert ended.state is State.SUCCEEDED, ended.error
    assert ended.charge == Decimal("0.04")
    with world.scope() as scope:
        work = workspace.objects.get(scope, ended.object_ids[0])
        assert (work.kind, work.media_type, work.title) == ("image", "image/png", "Poster")
        assert task.id in work.task_ids
        budget = credits.budget(scope)
        assert (budget.balance, budget.reserved, budget.spent_today) == (Decimal("99.96"), Decimal(0), Decimal("0.04"))
        assert [(item.kind, item.ref_id) for item in inbox.unread(scope, task.id)] == [("outcome", order.id)]
    assert [item["idempotency_key"] for item in the_studio.bill()].count(order.key) == 1


def test_doing_it_all_again_changes_nothing(world: World, the_studio: Studio) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.follow(order)
    before = world.get(order.id)

    world.submit(order)
    world.poll(order)
    world.settle(order)

    assert world.get(order.id) == before
    assert world.money("settle") == [Decimal("0.04")]
