"""The auditor finds what is wrong: a small honest life, and the same life with one thing amiss."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.api_view import ApiView
from tests.chaos.audit import audit

_AT = "2026-03-02T09:00:{:02d}.000000+00:00"
_MONEY = {"amount": "0.04", "currency": "USD"}


def _asked(at: int, *history: dict[str, Any]) -> dict[str, Any]:
    state = {"thread": "task", "task": {"id": "task_1"}}
    last = {"role": "user", "content": f"<state>\n{json.dumps(state)}\n</state>"}
    messages = [{"role": "system", "content": "rules"}, *history, last]
    return {"at": _AT.format(at), "request": {"messages": messages}, "answer": {}}


def _life() -> dict[str, Any]:
    """One message, one task, one turn with one step that orders one picture."""
    call = {"id": "turn_1:1:0", "tool": "generate_image", "effect": "paid", "status": "done"}
    step = {"n": 1, "text": "", "consumed": ["msg_1"], "calls": [call], "created_at": _AT.format(10)}
    turn = {"id": "turn_1", "task_id": "task_1", "message_id": None, "status": "completed", "steps": [step]}
    order = {
        "id": "order_1", "call_id": "turn_1:1:0", "turn_id": "turn_1", "state": "succeeded", "error": None,
        "upstream_id": "job_1", "object_ids": ["object_1"], "charge": dict(_MONEY),
    }  # fmt: skip
    task = {
        "id": "task_1", "goal": "A poster", "status": "done", "generations": [order], "open_cards": [], "inbox": [],
        "turns": [{"id": "turn_1", "status": "completed"}],
    }  # fmt: skip
    message = {
        "id": "msg_1", "state": "answered", "task_id": "task_1", "route": {"outcome": "light"}, "replies": [],
        "consumed_by": {"turn_id": "turn_1", "step": 1},
    }  # fmt: skip
    bill = {"job_id": "job_1", "idempotency_key": "turn_1:1:0", "kind": "image", **_MONEY}
    return {
        "posted": {"msg_1": "A poster"},
        "messages": [message],
        "tasks": [task],
        "turns": [{**turn, "created_at": _AT.format(1)}],
        "cards": [],
        "objects": [{"id": "object_1", "kind": "image", "current_version": 1}],
        "bill": [bill],
        "log": [_asked(5)],
    }


def test_an_honest_life_is_good() -> None:
    found = audit(ApiView(**_life()))

    assert found.good, (found.lost, found.doubled, found.repeated_after)
    assert (found.messages, found.decisions, found.model_calls, found.jobs, found.charges) == (1, 1, 1, 1, 1)


def test_a_request_before_the_decision_was_stored_is_a_repeat_and_no_fault() -> None:
    life = _life()
    life["log"].append(_asked(8))

    found = audit(ApiView(**life))

    assert found.good
    assert found.repeated_before == 1


def _bill_too_much(life: dict[str, Any], most: str, billed: str) -> None:
    """The studio bills 2.00 for what was quoted at 0.04."""
    life["bill"][0]["amount"] = "2.00"
    order = life["tasks"][0]["generations"][0]
    order["most"] = {**_MONEY, "amount": most}
    order["charge"] = {**_MONEY, "amount": "0.08"}
    order["contested"] = {"billed": billed, "charged": order["charge"], "with": "jobs"}


def test_a_bill_above_the_most_is_good_where_it_is_told_and_charged_to_the_bound() -> None:
    life = _life()
    _bill_too_much(life, "0.08", "2.00 USD")
    assert audit(ApiView(**life)).good


@pytest.mark.parametrize(("most", "billed"), [("0.06", "2.00 USD"), ("0.08", "1.00 USD"), ("3.00", "2.00 USD")])
def test_a_contested_bill_that_is_told_or_charged_otherwise_is_money_lost(most: str, billed: str) -> None:
    life = _life()
    _bill_too_much(life, most, billed)
    assert audit(ApiView(**life)).lost


def _ask_again(life: dict[str, Any]) -> None:
    life["log"].append(_asked(20))


def _charge_again(life: dict[str, Any]) -> None:
    life["bill"].append({**life["bill"][0], "job_id": "job_2"})


def _charge_unasked(life: dict[str, Any]) -> None:
    life["bill"].append({**life["bill"][0], "job_id": "job_2", "idempotency_key": "turn_9:1:0"})


def _order_again(life: dict[str, Any]) -> None:
    life["tasks"][0]["generations"].append({**life["tasks"][0]["generations"][0], "id": "order_2"})


def _read_again(life: dict[str, Any]) -> None:
    life["turns"].append({**copy.deepcopy(life["turns"][0]), "id": "turn_2"})


def _forget_the_work(life: dict[str, Any]) -> None:
    life["objects"].clear()


def _never_read(life: dict[str, Any]) -> None:
    life["messages"][0].update(state="delivered", consumed_by=None)


def _never_charged(life: dict[str, Any]) -> None:
    life["bill"].clear()


def _never_done(life: dict[str, Any]) -> None:
    life["tasks"][0]["generations"][0].update(state="running", object_ids=[])


def _left_started(life: dict[str, Any]) -> None:
    life["turns"][0]["steps"][0]["calls"][0]["status"] = "started"


@pytest.mark.parametrize(
    ("amiss", "column"),
    [
        (_ask_again, "repeated_after"),
        (_charge_again, "doubled"),
        (_charge_unasked, "lost"),
        (_order_again, "doubled"),
        (_read_again, "doubled"),
        (_forget_the_work, "lost"),
        (_never_read, "lost"),
        (_never_charged, "lost"),
        (_never_done, "lost"),
        (_left_started, "lost"),
    ],
)
def test_what_is_amiss_is_named(amiss: Callable[[dict[str, Any]], None], column: str) -> None:
    life = _life()
    amiss(life)

    found = audit(ApiView(**life))

    assert not found.good
    assert getattr(found, column)
