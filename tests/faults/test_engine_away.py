"""25, 22b: the engine is away, or comes back without its memory; the rows are all that is needed."""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.audit import assert_books_are_closed, assert_nothing_lost_or_doubled
from tests.faults.rig import Rig
from tests.support import story

pytestmark = pytest.mark.kill


def test_25_messages_that_come_while_the_engine_is_away_are_kept_and_read_in_their_order(rig: Rig) -> None:
    _, first = rig.posters()
    task = rig.ended(first)
    engine = rig.product.row("engine").pid
    assert engine is not None
    # Frozen, so that the supervisor does not start another: nobody answers, as on a machine that hangs.
    os.kill(engine, signal.SIGSTOP)
    try:
        said = [rig.say(f"A word for later, number {n}.", task_id=task) for n in range(5)]
        states = [rig.product.get(f"/api/v1/messages/{one}")["state"] for one in said]
    finally:
        rig.product.kill("engine")
    assert states == ["received"] * 5

    answered = "select count(*) from messages where task_id = :task and state = 'answered'"
    rig.product.until("all are read", lambda: rig.rows.one(answered, task=task) == 6, 90)
    story.ended(rig.product, task)
    query = "select ref_id from inbox where task_id = :task and kind = 'message' order by position"
    assert [ref for (ref,) in rig.rows.ask(query, task=task)] == [first, *said]
    assert_books_are_closed(rig, task)


@pytest.mark.parametrize("point", ["decide.recorded.after_commit", "order.accepted.after_commit"])
def test_22b_engine_that_lost_its_state_is_rung_again_under_new_ids(rig: Rig, point: str) -> None:
    if rig.product.engine != "embedded":
        pytest.skip("only our own engine's state is ours to lose")
    rig.strike(f"freeze:{point}")
    _, message = rig.posters()
    frozen = rig.victim(f"freeze:{point}")
    engine = rig.product.row("engine").pid
    assert engine is not None
    os.kill(engine, signal.SIGSTOP)
    for file in rig.product.home.glob("engine.sqlite*"):
        if not file.name.endswith(".lock"):
            file.unlink()
    rig.product.kill("engine")
    os.kill(frozen, signal.SIGKILL)

    task = rig.ended(message)

    assert_nothing_lost_or_doubled(rig, task, works=2)
    rung = (
        "select max(ring) from turns where task_id = :task union all select max(ring) from orders where task_id = :task"
    )
    assert max(ring for (ring,) in rig.rows.ask(rung, task=task)) >= 1
