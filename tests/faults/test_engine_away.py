"""The engine is away, or comes back without its memory: the rows of the database are all that is needed."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.faults.audit import assert_books_are_closed, assert_nothing_lost_or_doubled
from tests.faults.rig import Rig
from tests.support import story

pytestmark = pytest.mark.kill

_SENT = (
    "select count(*) from orders o join routes r on r.task_id = o.task_id "
    "where r.message_id = :message and o.upstream_id is not null"
)


@pytest.mark.boundary(25)
def test_messages_that_come_while_the_engine_is_away_are_kept_and_read_in_their_order(
    rig: Rig, pytestconfig: pytest.Config
) -> None:
    """The engine is away for as many seconds as `--away` says.

    `pytest tests/faults/test_engine_away.py -m "" --situation 25 --away 600` takes it away for ten minutes. When it
    goes, two pictures are at the studio and a turn may be at any step.
    """
    _, first = rig.posters()
    task = rig.ended(first)
    _, ordering = rig.posters()
    rig.product.until("an order at the studio", lambda: rig.rows.one(_SENT, message=ordering))
    engine = rig.product.row("engine").pid
    assert engine is not None
    # Frozen, so that the supervisor does not start another: nobody answers, as on a machine that hangs.
    os.kill(engine, signal.SIGSTOP)
    back = time.monotonic() + pytestconfig.getoption("--away")
    try:
        said = []
        for n in range(5):
            said.append(rig.say(f"A word for later, number {n}.", task_id=task))
            time.sleep(max(0.0, (back - time.monotonic()) / (5 - n)))
        states = [rig.product.get(f"/api/v1/messages/{one}")["state"] for one in said]
    finally:
        rig.product.kill("engine")
    assert states == ["received"] * 5

    answered = "select count(*) from messages where task_id = :task and state = 'answered'"
    rig.product.until("all are read", lambda: rig.rows.one(answered, task=task) == 6, 300)
    story.ended(rig.product, task, seconds=300)
    query = "select ref_id from inbox where task_id = :task and kind = 'message' order by position"
    assert [ref for (ref,) in rig.rows.ask(query, task=task)] == [first, *said]
    assert_books_are_closed(rig, task)
    other = rig.ended(ordering, seconds=300)
    assert_nothing_lost_or_doubled(rig, other, works=2)


@pytest.mark.boundary("22b")
@pytest.mark.parametrize("point", ["decide.recorded.after_commit", "order.accepted.after_commit"])
def test_bells_are_sent_under_new_ids_to_an_engine_that_lost_its_state(rig: Rig, point: str) -> None:
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
