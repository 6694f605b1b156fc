"""The audit: what our API says compared with the studio's bill and the model's log. It knows nothing of our tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from tests.chaos.api_view import ApiView, Json
from tests.chaos.decision_requests import repeats

_READ = ("consumed", "answered")
_TAKEN_BACK = ("withdrawn", "replaced")
_AT_REST = ("done", "blocked", "stopped", "archived", "paused")
_FINAL = ("succeeded", "failed", "cancelled", "unresolved")


@dataclass(frozen=True)
class Audit:
    """The table of a run. `lost`, `doubled` and `repeated_after` name what is wrong, in words."""

    messages: int
    tasks: int
    generating: int
    decisions: int
    model_calls: int
    repeated_before: int
    repeated_after: list[str]
    jobs: int
    charges: int
    charged: Decimal
    unresolved: int
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.repeated_after)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "charged": str(self.charged), "good": self.good}


def audit(seen: ApiView) -> Audit:
    asked = repeats(seen)
    return Audit(
        messages=len(seen.posted),
        tasks=len(seen.tasks),
        generating=sum(bool(task["generations"]) for task in seen.tasks),
        decisions=sum(len(turn["steps"]) for turn in seen.turns),
        model_calls=asked.calls,
        repeated_before=asked.before,
        repeated_after=asked.after,
        jobs=sum(order["upstream_id"] is not None for order in seen.orders),
        charges=len(seen.bill),
        charged=sum((Decimal(row["amount"]) for row in seen.bill), Decimal(0)),
        unresolved=sum(order["state"] == "unresolved" for order in seen.orders),
        lost=[*_lost_messages(seen), *_lost_work(seen), *_lost_calls(seen), *_lost_money(seen)],
        doubled=[*_doubled_messages(seen), *_doubled_work(seen), *_doubled_money(seen)],
    )


def _lost_messages(seen: ApiView) -> Iterator[str]:
    over = {task["id"] for task in seen.tasks if task["status"] in ("stopped", "archived")}
    for message in seen.messages:
        state, read = message["state"], message["consumed_by"]
        if state in _TAKEN_BACK:
            if read is not None:
                yield f"message {message['id']} was taken back and yet read by {read}"
        elif state in _READ:
            # A message to a task that was stopped meanwhile is answered with words that say so.
            if message["route"] is None or (read is None and not message["replies"]):
                yield f"message {message['id']} is {state}, but nobody says who read it"
        elif state != "superseded" or message["task_id"] not in over:
            yield f"message {message['id']} is {state} and was never read"


def _lost_work(seen: ApiView) -> Iterator[str]:
    for task in seen.tasks:
        ends = [order["state"] for order in task["generations"]]
        asks = bool(task["open_cards"])
        if task["status"] not in _AT_REST and not (task["status"] == "waiting" and asks):
            yield f"task {task['id']} ({task['goal'][:40]}) is {task['status']}, with orders {ends}"
        if left := [item for item in task["inbox"] if not _may_stay_unread(task, item)]:
            yield f"task {task['id']} is {task['status']} and has unread input: {left}"
    for order in seen.orders:
        if order["state"] not in _FINAL:
            yield f"order {order['id']} is {order['state']} ({order['error']})"
        if order["state"] == "succeeded" and not order["object_ids"]:
            yield f"order {order['id']} succeeded and made nothing"
    known = {work["id"] for work in seen.objects}
    for order in seen.orders:
        yield from (f"work {one} of order {order['id']} is gone" for one in order["object_ids"] if one not in known)


def _may_stay_unread(task: Json, item: Json) -> bool:
    """At a task that a person rests or ended, and at one whose last turn has failed on it and says so on a card."""
    if task["status"] != "blocked":
        return task["status"] in ("stopped", "archived", "paused")
    failed = task["turns"] and task["turns"][-1]["status"] == "failed"
    asks = any(card["kind"] == "blocked" for card in task["open_cards"])
    return bool(failed and asks and item["created_at"] <= task["turns"][-1]["ended_at"])


def _lost_calls(seen: ApiView) -> Iterator[str]:
    """A paid call that was carried out has an order, or a card that asks or asked for it."""
    ordered = {order["call_id"] for order in seen.orders}
    carded = {card.get("turn_id") for card in seen.cards if card["kind"] in ("quote", "limit")}
    for turn in seen.turns:
        if turn["status"] in ("queued", "running"):
            yield f"turn {turn['id']} is still {turn['status']}"
        for call in (call for step in turn["steps"] for call in step["calls"]):
            if call["status"] in ("proposed", "started") and turn["status"] not in ("queued", "running"):
                yield f"call {call['id']} of a turn that is {turn['status']} is still {call['status']}"
            paid = call["effect"] == "paid" and call["status"] == "done"
            if paid and call["id"] not in ordered and turn["id"] not in carded:
                yield f"call {call['id']} ({call['tool']}) is done and has neither order nor card"
    for card in seen.cards:
        approved = card["kind"] == "quote" and (card.get("answer") or {}).get("option") == "approve"
        if approved and not any(order["turn_id"] == card.get("turn_id") for order in seen.orders):
            yield f"quote card {card['id']} was approved and nothing was ordered"


def _lost_money(seen: ApiView) -> Iterator[str]:
    """Every charge is booked to the order that authorised it, and nothing else is booked as charged."""
    by_call = {order["call_id"]: order for order in seen.orders}
    billed = {row["idempotency_key"]: row for row in seen.bill}
    for key, row in billed.items():
        order = by_call.get(key)
        if order is None:
            yield f"charge of {row['amount']} under {key}: no order authorised it"
        elif order["state"] != "unresolved" and not (_same_amount(order["charge"], row) or _contested(order, row)):
            yield f"charge of {row['amount']} under {key}: the order is {order['state']} at {order['charge']}"
    for key, order in by_call.items():
        if order["charge"] is not None and key not in billed:
            yield f"order {order['id']} is booked at {order['charge']}, and the studio charged nothing"


def _contested(order: Json, row: Json) -> bool:
    """A bill above what was agreed: told in full, charged to the bound, and the rest is contested."""
    contested, charge = order.get("contested"), order["charge"]
    if contested is None or charge is None:
        return False
    told = contested["billed"] == f"{row['amount']} {row['currency']}"
    return told and charge == order["most"] and Decimal(charge["amount"]) < Decimal(row["amount"])


def _same_amount(charge: Json | None, row: Json) -> bool:
    return charge is not None and Decimal(charge["amount"]) == Decimal(row["amount"])


def _doubled_messages(seen: ApiView) -> Iterator[str]:
    readers: dict[str, list[str]] = defaultdict(list)
    for turn in seen.turns:
        for step in turn["steps"]:
            for message_id in step["consumed"]:
                readers[message_id].append(f"{turn['id']}:{step['n']}")
    for message_id, steps in readers.items():
        if len(steps) > 1:
            yield f"message {message_id} was read by {steps}"
    texts = Counter(seen.posted.values())
    goals = Counter(task["goal"] for task in seen.tasks)
    yield from (f"{n} tasks for {goal!r}" for goal, n in goals.items() if n > max(1, texts[goal]))


def _doubled_work(seen: ApiView) -> Iterator[str]:
    orders = Counter(order["call_id"] for order in seen.orders)
    yield from (f"{n} orders for call {call}" for call, n in orders.items() if n > 1)
    jobs = Counter(order["upstream_id"] for order in seen.orders if order["upstream_id"])
    yield from (f"job {job} belongs to {n} orders" for job, n in jobs.items() if n > 1)
    made = Counter(work_id for order in seen.orders for work_id in order["object_ids"])
    for work in seen.objects:
        if work["kind"] != "document" and work["current_version"] != made[work["id"]]:
            yield f"work {work['id']} has {work['current_version']} versions from {made[work['id']]} orders"
    for turn in seen.turns:
        ids = Counter(call["id"] for step in turn["steps"] for call in step["calls"])
        yield from (f"call {call} stands {n} times in {turn['id']}" for call, n in ids.items() if n > 1)
    for task in seen.tasks:
        running = [turn["id"] for turn in task["turns"] if turn["status"] in ("queued", "running")]
        if len(running) > 1:
            yield f"task {task['id']} has the open turns {running}"


def _doubled_money(seen: ApiView) -> Iterator[str]:
    for name in ("idempotency_key", "job_id"):
        charges = Counter(row[name] for row in seen.bill)
        yield from (f"{n} charges under {what}" for what, n in charges.items() if n > 1)
