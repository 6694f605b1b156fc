"""Whether a task goes on by itself, as a table over stored facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.statuses import ChecklistStatus, TaskStatus
from runtime.turns.proceed import (
    AskPerson,
    ChecklistFact,
    EndTask,
    NextMove,
    NextTurn,
    NoFurtherTurn,
    ReportNoProgress,
    ReportRefusal,
    TurnFacts,
    WaitForOrders,
    choose_next_move,
)

OPEN = ChecklistFact(1, ChecklistStatus.TODO, checkpoint=False, approved=False)
DONE = ChecklistFact(1, ChecklistStatus.DONE, checkpoint=False, approved=False)
ASKS = ChecklistFact(1, ChecklistStatus.DONE, checkpoint=True, approved=False)
MUST = ChecklistFact(1, ChecklistStatus.DONE, checkpoint=True, approved=False, mandatory=True)
UNPLANNED = ChecklistFact(1, ChecklistStatus.DONE, checkpoint=False, approved=False, planned=False)
PASSED = ChecklistFact(1, ChecklistStatus.DONE, checkpoint=True, approved=True)
SECOND = ChecklistFact(2, ChecklistStatus.TODO, checkpoint=False, approved=False)
FACTS = TurnFacts(
    task_status=TaskStatus.ACTIVE,
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
    turns_without_input=0,
    most_turns_without_input=20,
)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        # Open steps and a silent model: the runtime goes on
        pytest.param(FACTS, NextTurn(), marks=pytest.mark.boundary(43)),
        (replace(FACTS, checklist=(DONE,)), EndTask()),
        # Done, but what it was built on was set back
        (replace(FACTS, checklist=(DONE, replace(DONE, n=2, stale=True))), NextTurn()),
        (replace(FACTS, checklist=()), EndTask()),
        (replace(FACTS, finished=True), EndTask()),
        (replace(FACTS, kind="light"), EndTask()),
        (replace(FACTS, refused=True), ReportRefusal()),
        # A paused task does not go on, whatever the checklist says
        pytest.param(
            replace(FACTS, task_status=TaskStatus.PAUSED, unread=True),
            NoFurtherTurn("the task is paused"),
            marks=pytest.mark.boundary(46),
        ),
        (replace(FACTS, task_status=TaskStatus.STOPPED, open_orders=("o",)), NoFurtherTurn("the task is stopped")),
        # Unread input comes first: before waiting, before the checklist, before the question of progress
        (replace(FACTS, unread=True, open_orders=("o",), progressed=False, idle_rounds=9), NextTurn()),
        (replace(FACTS, unread=True, checklist=(DONE,)), NextTurn()),
        # A long job is no lack of progress
        pytest.param(
            replace(FACTS, open_orders=("o", "p"), progressed=False, idle_rounds=9),
            WaitForOrders(("o", "p")),
            marks=pytest.mark.boundary(47),
        ),
        (replace(FACTS, open_orders=("o",), open_cards=("c",)), WaitForOrders(("o",))),
        (replace(FACTS, open_cards=("c",)), AskPerson(None)),
        # At a checkpoint the runtime asks, unless the level of autonomy or a person lets it pass
        pytest.param(replace(FACTS, checklist=(ASKS, SECOND)), AskPerson(1), marks=pytest.mark.boundary(45)),
        (replace(FACTS, checklist=(PASSED, SECOND)), NextTurn()),
        (replace(FACTS, checklist=(ASKS, SECOND), autonomy="plan"), NextTurn()),
        (replace(FACTS, checklist=(MUST, SECOND), autonomy="plan"), AskPerson(1)),
        (replace(FACTS, checklist=(replace(MUST, approved=True), SECOND), autonomy="plan"), NextTurn()),
        # A plan that nobody has approved is no approved plan
        (replace(FACTS, checklist=(UNPLANNED, SECOND), autonomy="plan"), AskPerson(1)),
        (replace(FACTS, checklist=(UNPLANNED, SECOND)), NextTurn()),
        (replace(FACTS, checklist=(DONE, SECOND), autonomy="step"), AskPerson(1)),
        # Rounds without progress end
        (replace(FACTS, progressed=False, idle_rounds=1), NextTurn()),
        pytest.param(
            replace(FACTS, progressed=False, idle_rounds=2), ReportNoProgress(3), marks=pytest.mark.boundary(44)
        ),
        (replace(FACTS, turns_without_input=20), ReportNoProgress(20)),
    ],
)
def test_proceed(facts: TurnFacts, verdict: NextMove) -> None:
    assert choose_next_move(facts) == verdict


def test_the_first_rule_that_applies_decides() -> None:
    # Given facts that meet every rule
    facts = replace(
        FACTS,
        task_status=TaskStatus.PAUSED,
        unread=True,
        open_orders=("o",),
        open_cards=("c",),
        checklist=(ASKS, SECOND),
        refused=True,
        finished=True,
        progressed=False,
        idle_rounds=2,
        turns_without_input=20,
    )
    # When the reason of one rule after the other goes away
    changes: list[tuple[NextMove, dict[str, Any]]] = [
        (NoFurtherTurn("the task is paused"), {"task_status": "active"}),
        (NextTurn(), {"unread": False}),
        (WaitForOrders(("o",)), {"open_orders": ()}),
        (AskPerson(None), {"open_cards": ()}),
        (AskPerson(1), {"checklist": (PASSED, SECOND)}),
        (ReportRefusal(), {"refused": False}),
        (EndTask(), {"finished": False}),
        (ReportNoProgress(3), {"progressed": True}),
        (ReportNoProgress(20), {"turns_without_input": 0}),
        (NextTurn(), {}),
    ]
    # Then the next one decides
    for move, change in changes:
        assert choose_next_move(facts) == move
        facts = replace(facts, **change)
