"""One order, from the call to the work, without an engine."""

from __future__ import annotations

from decimal import Decimal

import pytest

import workspace.objects
from generation.orders.states import OrderState
from runtime.inbox import inbox
from runtime.limits import credits
from tests.generation.world import GenerationWorld, StudioOfTests


def test_an_order_becomes_one_work_and_one_charge(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    order = world.order(
        task, world.turn(task), tool="generate_image", prompt="HARBOUR FESTIVAL, navy and cream", size="1024x1536"
    )
    assert (order.state, order.quote) == (OrderState.ORDERED, Decimal("0.04"))

    ended = world.follow(order)

    assert ended.state is OrderState.SUCCEEDED, ended.error
    assert ended.charge == Decimal("0.04")
    with world.scope() as scope:
        work = workspace.objects.get_object(scope, ended.object_ids[0])
        assert (work.kind, work.media_type, work.title) == ("image", "image/png", "Poster")
        assert task.id in work.task_ids
        budget = credits.read_budget(scope)
        assert (budget.balance, budget.reserved, budget.spent_today) == (Decimal("99.96"), Decimal(0), Decimal("0.04"))
        assert [(item.kind, item.ref_id) for item in inbox.list_unread(scope, task.id)] == [("outcome", order.id)]
    assert [item["idempotency_key"] for item in the_studio.bill()].count(order.key) == 1


def test_doing_it_all_again_changes_nothing(world: GenerationWorld, the_studio: StudioOfTests) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    world.follow(order)
    before = world.get(order.id)

    world.submit(order)
    world.poll(order)
    world.settle(order)

    assert world.get(order.id) == before
    assert world.money("settle") == [Decimal("0.03")]


def test_each_kind_is_made_checked_and_filed(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    kinds = {
        "generate_audio": "audio/wav",
        "generate_model3d": "model/gltf-binary",
        "generate_image": "image/png",
    }
    for n, (tool, media_type) in enumerate(kinds.items(), start=1):
        ended = world.follow(world.order(task, fence, n, tool=tool))
        assert ended.state is OrderState.SUCCEEDED, ended.error
        with world.scope() as scope:
            assert workspace.objects.get_object(scope, ended.object_ids[0]).media_type == media_type


@pytest.mark.long
def test_a_picture_becomes_a_film_and_its_own_next_version(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    picture = world.follow(world.order(task, fence, 1, tool="generate_image")).object_ids[0]

    warmer = world.order(task, fence, 2, tool="generate_image", prompt="A touch warmer", object_id=picture, size=None)
    film = world.order(task, fence, 3, tool="generate_video", references=[picture])
    finer = world.order(task, fence, 4, tool="enhance", object_id=picture)

    assert [item["role"] for item in film.inputs] == ["reference"]
    assert world.follow(warmer).object_ids == (picture,)
    filmed = world.follow(film)
    assert filmed.state is OrderState.SUCCEEDED, filmed.error
    with world.scope() as scope:
        assert workspace.objects.get_object(scope, picture).version == 2
        assert workspace.objects.get_object(scope, filmed.object_ids[0]).media_type == "video/mp4"
        # Ordered from the first version, which has been overtaken: kept, marked stale, not put in its place.
    kept = world.follow(finer)
    assert kept.state is OrderState.SUCCEEDED, kept.error
    assert kept.object_ids != (picture,)
    with world.scope() as scope:
        assert workspace.objects.get_object(scope, kept.object_ids[0]).stale
        assert workspace.objects.get_object(scope, picture).version == 2
