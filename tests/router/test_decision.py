"""The levels without judgement, as a table."""

from __future__ import annotations

import pytest

from router.decision import RouteDecision, RouteTarget, TaskOfObject, decide_without_model

OLD, YOUNG, ENDED = TaskOfObject("old", True), TaskOfObject("young", True), TaskOfObject("ended", False)
MAKER, ENDED_MAKER = TaskOfObject("maker", True, made_it=True), TaskOfObject("former", False, made_it=True)


@pytest.mark.boundary(1)
@pytest.mark.parametrize(
    ("target", "level", "task_id", "object_ids"),
    [
        (RouteTarget(task_id="t"), "explicit", "t", ()),
        (RouteTarget(task_id="t", card_task_id="c", object_id="o", object_tasks=[OLD]), "explicit", "t", ()),
        (RouteTarget(card_task_id="c", object_id="o", object_tasks=[OLD]), "explicit", "c", ()),
        (RouteTarget(object_id="o", object_tasks=[OLD, YOUNG]), "object", "old", ("o",)),
        (RouteTarget(object_id="o", object_tasks=[OLD, MAKER]), "object", "maker", ("o",)),
        (RouteTarget(object_id="o", object_tasks=[ENDED_MAKER, OLD, YOUNG]), "object", "old", ("o",)),
        (RouteTarget(object_id="o", object_tasks=[ENDED, YOUNG]), "object", "young", ("o",)),
        (RouteTarget(object_id="o", object_tasks=[ENDED]), "object", "ended", ("o",)),
        (RouteTarget(object_id="o", object_tasks=None), "object", None, ()),
    ],
)
def test_what_a_message_points_at_decides(
    target: RouteTarget, level: str, task_id: str | None, object_ids: tuple[str, ...]
) -> None:
    decided = decide_without_model(target)
    assert decided is not None
    assert (decided.level, decided.outcome, decided.task_id) == (level, "existing", task_id)
    assert decided.object_ids == object_ids
    assert decided.reasons


@pytest.mark.parametrize("target", [RouteTarget(), RouteTarget(object_id="o", object_tasks=[])])
def test_what_points_at_no_task_is_left_to_judgement(target: RouteTarget) -> None:
    nothing: RouteDecision | None = decide_without_model(target)
    assert nothing is None
