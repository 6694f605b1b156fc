"""Likeness of goals, and what a duplicate verdict does, as tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from router.decision import RouteCandidate, RouteDecision
from router.verdict import MOST_DUPLICATES, DuplicateVerdict, find_likely_duplicates, goal_likeness, settle_duplicate
from runtime.statuses import TaskStatus
from runtime.tasks.tasks import Task

GOAL = "Make a set of three retro posters for the Harbour Festival"


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (GOAL, True),
        ("Three retro posters for the Harbour Festival please", True),
        ("Could you create a set of 3 retro Harbour Festival posters", True),
        ("A set of four posters for the Jazz Club", False),
        ("Write a poem about rain", False),
        ("", False),
        ("😀", False),
    ],
)
def test_goals_that_are_alike(other: str, alike: bool) -> None:
    assert (goal_likeness(GOAL, other) >= 0.5) is alike
    assert goal_likeness(GOAL, other) == goal_likeness(other, GOAL)


def test_goals_in_a_script_without_spaces() -> None:
    assert goal_likeness("夜市のポスターを三枚作ってください", "夜市のポスターを三枚お願いします") >= 0.5
    assert goal_likeness("夜市のポスターを三枚作ってください", "雨についての詩を書いて") < 0.5


def task(task_id: str, goal: str) -> Task:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    return Task(
        id=task_id, person_id="p", kind="persistent", parent_id=None, goal=goal, brief="", status=TaskStatus.ACTIVE,
        reason="", autonomy="checkpoint", plan=None, language="en", asked_by="person", idle_rounds=0, setbacks=0,
        approved_plan=0, cause=task_id, created_at=at, updated_at=at,
    )  # fmt: skip


def test_the_nearest_few_come_first() -> None:
    active = [task(f"t{n}", GOAL + " again" * n) for n in range(6)] + [task("other", "Write a poem about rain")]
    found = find_likely_duplicates(GOAL, active)
    assert len(found) == MOST_DUPLICATES
    assert found[0] == RouteCandidate("t0", 1.0)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.boundary(4)
@pytest.mark.parametrize(
    ("verdict", "outcome", "task_id"),
    [
        (DuplicateVerdict(outcome="existing", task_id="a"), "existing", "a"),
        (DuplicateVerdict(outcome="existing", task_id="never offered"), "ask", None),
        (DuplicateVerdict(outcome="existing"), "ask", None),
        (DuplicateVerdict(outcome="ask"), "ask", None),
        (DuplicateVerdict(outcome="new"), "new", None),
        (DuplicateVerdict(outcome="new", task_id="a"), "new", None),
    ],
)
def test_no_silent_second_task_and_no_unknown_one(verdict: DuplicateVerdict, outcome: str, task_id: str | None) -> None:
    candidates = [RouteCandidate("a", 0.9), RouteCandidate("b", 0.6)]
    after = settle_duplicate(RouteDecision("semantic", "new", reasons=("a goal",)), verdict, candidates)
    assert (after.outcome, after.task_id) == (outcome, task_id)
    assert after.candidates == tuple(candidates)
