"""Rows that only a running turn writes: a turn with steps and calls, a plan, an order at a provider."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from core.database import Scope
from generation.tables import orders
from runtime.tables import calls, checklist_steps, inbox, steps, turns
from runtime.tasks import checklist
from runtime.tasks.checklist import NewChecklistStep


def insert_turn(scope: Scope, task_id: str, message_id: str) -> str:
    turn_id = scope.ids.new("turn")
    scope.insert(
        turns,
        id=turn_id,
        task_id=task_id,
        cause=f"message:{message_id}",
        status="waiting",
        reason="",
        epoch=1,
        ring=0,
        touched_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
        started_at=scope.now,
        ended_at=scope.now,
    )
    scope.insert(
        inbox,
        id=scope.ids.new("in"),
        task_id=task_id,
        kind="message",
        ref_id=message_id,
        state="consumed",
        position=1,
        turn_id=turn_id,
        step=1,
        created_at=scope.now,
        consumed_at=scope.now,
    )
    for n, names in enumerate((("set_brief", "create_checklist"), ("generate_image",) * 3), start=1):
        scope.insert(
            steps,
            turn_id=turn_id,
            n=n,
            epoch=1,
            text="",
            model="standin-1",
            tokens=840 + n,
            cached_tokens=512,
            layers={},
            facts=[],
            cut=False,
            refused=False,
            created_at=scope.now,
        )
        for seq, name in enumerate(names):
            scope.insert(
                calls,
                id=f"{turn_id}:{n}:{seq}",
                turn_id=turn_id,
                step=n,
                seq=seq,
                tool=name,
                effect="paid" if name == "generate_image" else "write",
                arguments="{}",
                wish="",
                status="done",
                epoch=1,
                ok=True,
                result={},
                started_at=scope.now,
                finished_at=scope.now,
            )
    return turn_id


def insert_half_done_plan(scope: Scope, task_id: str, made: list[str]) -> None:
    names = ("Write the brief", "First poster", "Second poster", "Third poster", "Check the set")
    checklist.write_checklist(
        scope, task_id, [NewChecklistStep(name, f"{name} is there", name == "Check the set", ()) for name in names]
    )
    done = {1: [], 2: [{"kind": "object", "id": made[0]}], 3: [{"kind": "object", "id": made[1]}]}
    for n, evidence in done.items():
        mine = scope.update(checklist_steps).where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == n)
        scope.change(mine.values(status="done", evidence=evidence))
    mine = scope.update(checklist_steps).where(checklist_steps.c.task_id == task_id, checklist_steps.c.n == 4)
    scope.change(mine.values(status="waiting"))


def insert_running_order(scope: Scope, task_id: str, turn_id: str) -> str:
    order_id = scope.ids.new("order")
    scope.insert(
        orders,
        id=order_id,
        task_id=task_id,
        turn_id=turn_id,
        call_id=f"{turn_id}:2:2",
        key=f"{turn_id}:2:2",
        digest="0" * 64,
        title="Harbour poster 3",
        kind="image",
        provider="studio",
        model="studio-poster-1",
        params={},
        inputs=[],
        state="running",
        progress=0.35,
        quote=Decimal("0.04"),
        most=Decimal("0.08"),
        currency="USD",
        outputs=[],
        object_ids=[],
        epoch=1,
        ring=0,
        news_at=scope.now,
        rung_at=scope.now,
        created_at=scope.now,
        submitted_at=scope.now,
        deadline=scope.now + timedelta(hours=1),
    )
    scope.changed("generation", order_id)
    return order_id
