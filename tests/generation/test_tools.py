"""The tools that order nothing, and what the model is shown."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from pydantic import ValidationError

from core.errors import InvalidError, NotFoundError, RefusedError
from core.tools import Effect
from generation.orders.states import OrderState
from generation.tools import budget_state, is_settled_order, orders_state, outcome_input
from tests.generation.world import GenerationWorld


def test_list_models_shows_lengths_sizes_and_prices(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, ("list_models", {"kind": "video"}), ("list_models", {}))
    (film,) = world.call(task, fence, 1, 0).content["models"]
    assert film["seconds"] == [3, 5, 8, 10]
    assert film["price"] == {"amount": "0.05", "currency": "USD", "per": "second"}
    kinds = {model["kind"] for model in world.call(task, fence, 1, 1).content["models"]}
    assert kinds == {"image", "video", "audio", "model3d"}


def test_an_estimate_orders_nothing(world: GenerationWorld) -> None:
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, ("estimate", {"kind": "video", "seconds": 5, "count": 3}), ("estimate", {"kind": "image"}))
    shown = world.call(task, fence, 1, 0).content
    assert (shown["each"], shown["amount"], shown["currency"]) == ("0.25", "0.75", "USD")
    assert world.call(task, fence, 1, 1).content["amount"] == "0.04"
    assert world.orders() == []


def test_a_task_cancels_its_own_orders_only(world: GenerationWorld) -> None:
    task, other = world.task(), world.task("other")
    fence = world.turn(task)
    order, foreign = world.order(task, fence), world.order(other, world.turn(other))
    calls = [("cancel_generation", {"order_id": name}) for name in (order.id, foreign.id, "order_nowhere")]
    world.decide(fence, 2, *calls)
    assert world.call(task, fence, 2, 0).content["state"] == "cancelled"
    assert world.call(task, fence, 2, 0).content["state"] == "cancelled"
    with pytest.raises(RefusedError):
        world.call(task, fence, 2, 1)
    with pytest.raises(NotFoundError):
        world.call(task, fence, 2, 2)
    assert world.get(foreign.id).open


def test_effects_are_told_to_the_guard(world: GenerationWorld) -> None:
    paid = {name for name, tool in world.tools.items() if tool.effect is Effect.PAID}
    assert paid == {"generate_image", "generate_video", "generate_audio", "generate_model3d", "enhance"}
    assert all(tool.repeatable for tool in world.tools.values())


@pytest.mark.parametrize(
    "arguments",
    [{}, {"prompt": " ", "title": "x"}, {"prompt": "x", "title": "x", "approved": True}, {"prompt": "x" * 20_001}],
)
def test_bad_arguments_are_refused(world: GenerationWorld, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        world.tools["generate_image"].arguments.model_validate(arguments)


def test_the_model_is_shown_orders_outcomes_and_money(world: GenerationWorld) -> None:
    task = world.task()
    order = world.order(task, world.turn(task))
    with world.scope() as scope:
        assert not is_settled_order(scope, order.id, task.id)
        (total,) = orders_state(scope, None)["orders"]
        assert (total["task_id"], total["state"], total["count"], total["charged"]) == (task.id, "ordered", 1, "0")
    ended = world.follow(order)
    with world.scope() as scope:
        (total,) = orders_state(scope, None)["orders"]
        assert (total["state"], total["count"], total["charged"]) == ("succeeded", 1, "0.03")
        (shown,) = orders_state(scope, task.id)["orders"]
        assert (shown["progress"], shown["quote"], shown["charge"]) == (1.0, "0.03", "0.03")
        assert datetime.fromisoformat(shown["ordered_at"]) == order.created_at.replace(second=0, microsecond=0)
        assert (shown["id"], shown["state"], shown["call_id"]) == (order.id, OrderState.SUCCEEDED.value, order.call_id)
        outcome = outcome_input(scope, order.id)
        assert outcome["kind"] == "outcome"
        assert (outcome["order_id"], outcome["object_ids"]) == (order.id, list(ended.object_ids))
        assert budget_state(scope, task.id)["budget"] == {
            "balance": "99.97",
            "free_per_operation": "0.3",
            "spent_today": "0.03",
            "currency": "USD",
        }
        assert is_settled_order(scope, order.id, task.id)
        assert not is_settled_order(scope, order.id, "task_other")
        assert not is_settled_order(scope, "order_nowhere", task.id)


def test_a_task_that_has_no_provider_is_told_so(world: GenerationWorld) -> None:
    world.dependencies.providers.clear()
    task = world.task()
    fence = world.turn(task)
    world.decide(fence, 1, ("estimate", {"kind": "image"}))
    with pytest.raises(InvalidError, match="LOOPWRIGHT_GENERATORS"):
        world.call(task, fence, 1, 0)
    assert Decimal(0) == Decimal(sum(world.money("settle")))
