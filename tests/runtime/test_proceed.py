"""Whether a task goes on by itself, as a table over stored facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.turns.proceed import (
    ChecklistFact,
    End,
    Facts,
    Gate,
    Next,
    NoProgress,
    Proceed,
    Refusal,
    Stop,
    Wait,
    proceed,
)

OPEN = ChecklistFact(1, "todo", checkpoint=False, approved=False)
DONE = ChecklistFact(1, "done", checkpoint=False, approved=False)
ASKS = ChecklistFact(1, "done", checkpoint=True, approved=False)
MUST = ChecklistFact(1, "done", checkpoint=True, approved=False, mandatory=True)
UNPLANNED = ChecklistFact(1, "done", checkpoint=False, approved=False, planned=False)
PASSED = ChecklistFact(1, "done", checkpoint=True, approved=True)
SECOND = ChecklistFact(2, "todo", checkpoint=False, approved=False)
FACTS = Facts(
    task_status="active",
    kind="persistent",
    autonomy="checkpoint",
    checklist=(OPEN,),
    open_orders=(),
    open_cards=(),
    unread=False,
    progressed=True,
    idle_rounds=0,
    most_idle_rounds=3,
    finished=False,
    refused=False,
    alone=0,
    most_alone=20,
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        # 43: open steps and a silent model: the runtime goes on
        (FACTS, Next()),
        (replace(FACTS, checklist=(DONE,)), End()),
        (replace(FACTS, checklist=()), End()),
        (replace(FACTS, finished=True), End()),
        (replace(FACTS, kind="light"), End()),
        (replace(FACTS, refused=True), Refusal()),
        # 46: what a person paused is not taken up, whatever the checklist says
        (replace(FACTS, task_status="paused", unread=True), Stop("the task is paused")),
        (replace(FACTS, task_status="stopped", open_orders=("o",)), Stop("the task is stopped")),
        # Unread input comes first: before waiting, before the checklist, before the question of progress
        (replace(FACTS, unread=True, open_orders=("o",), progressed=False, idle_rounds=9), Next()),
        (replace(FACTS, unread=True, checklist=(DONE,)), Next()),
        # 47: a long job is no lack of progress
        (replace(FACTS, open_orders=("o", "p"), progressed=False, idle_rounds=9), Wait(("o", "p"))),
        (replace(FACTS, open_orders=("o",), open_cards=("c",)), Wait(("o",))),
        (replace(FACTS, open_cards=("c",)), Gate(None)),
        # 45: at a checkpoint the runtime asks, unless autonomy or a person let it pass
        (replace(FACTS, checklist=(ASKS, SECOND)), Gate(1)),
        (replace(FACTS, checklist=(PASSED, SECOND)), Next()),
        (replace(FACTS, checklist=(ASKS, SECOND), autonomy="plan"), Next()),
        (replace(FACTS, checklist=(MUST, SECOND), autonomy="plan"), Gate(1)),
        (replace(FACTS, checklist=(replace(MUST, approved=True), SECOND), autonomy="plan"), Next()),
        # A plan that nobody has approved is no approved plan
        (replace(FACTS, checklist=(UNPLANNED, SECOND), autonomy="plan"), Gate(1)),
        (replace(FACTS, checklist=(UNPLANNED, SECOND)), Next()),
        (replace(FACTS, checklist=(DONE, SECOND), autonomy="step"), Gate(1)),
        # 44: rounds without progress end
        (replace(FACTS, progressed=False, idle_rounds=1), Next()),
        (replace(FACTS, progressed=False, idle_rounds=2), NoProgress(3)),
        (replace(FACTS, alone=20), NoProgress(20)),
    ],
)
def test_proceed(facts: Facts, verdict: Proceed) -> None:
    assert proceed(facts) == verdict
