"""A worker freezes inside a tool and is replaced; what it writes when it wakes is refused.

A product supervises one worker, and a frozen process is no dead one: nobody restarts it. So a second worker of the same
home is started, as it would run on another machine. The engine asks whoever registered last, the watch finds the turn
whose lease is dead and rings for it, and the second worker enters at epoch 2. Then the first one is woken with SIGCONT.
"""

from __future__ import annotations

import os
import signal

import pytest

from tests.faults.audit import asked_again, assert_nothing_lost_or_doubled
from tests.faults.rig import Rig
from tests.support import story

pytestmark = pytest.mark.kill

FROZEN = "freeze:tool.after_commit"
"""Inside the first tool: its own effect is stored, its result is not, and the call stands as started."""


@pytest.mark.boundary(18)
def test_frozen_worker_is_replaced_at_epoch_2_and_its_late_write_refused(rig: Rig) -> None:
    rig.strike(FROZEN)
    _, message = rig.posters()
    frozen = rig.victim(FROZEN)
    task = story.task_of(rig.product, message)
    turn = rig.rows.one("select id from turns where task_id = :task", task=task)
    call = (
        "select id, tool, status, epoch, result is not null from calls where turn_id = :turn and step = 1 and seq = 0"
    )
    assert rig.rows.ask(call, turn=turn)[0][2:4] == ("started", 1)
    try:
        with rig.second_worker():
            rig.ended(message)
            taken_over = rig.rows.ask(call, turn=turn)
            steps = "select n, epoch, created_at from steps where turn_id = :turn order by n"
            decided = rig.rows.ask(steps, turn=turn)
            os.kill(frozen, signal.SIGCONT)
            rig.product.until("the late write is refused", lambda: _lost_runs(rig, turn))

            assert rig.rows.ask("select status, epoch from turns where id = :turn", turn=turn)[0][1] == 2
            assert taken_over[0][2:4] == ("done", 2)
            assert rig.rows.ask(call, turn=turn) == taken_over
            assert rig.rows.ask(steps, turn=turn) == decided
            assert (decided[0][1], decided[-1][1]) == (1, 2)
            assert asked_again(rig, task) == 0
            assert_nothing_lost_or_doubled(rig, task, works=2)
    finally:
        rig.product.kill("worker")
    assert rig.ended(rig.posters()[1])


def _lost_runs(rig: Rig, turn: str) -> bool:
    """Whether the run whose worker was frozen has ended, and says that it lost the turn."""
    runs = rig.product.items("/api/v1/runs", function="run-turn")
    told = [rig.product.get(f"/api/v1/runs/{run['id']}") for run in runs[:6]]
    ours = [run for run in told if turn in str(run)]
    return (
        len(ours) == 2 and {run["status"] for run in ours} == {"completed"} and any("lost" in str(run) for run in ours)
    )


@pytest.mark.boundary(19)
def test_frozen_worker_and_its_successor_place_the_same_order_once(rig: Rig) -> None:
    """Frozen with the order admitted and the call still open; the successor makes the same call again."""
    point = "freeze:order.admitted.after_commit"
    rig.strike(point)
    _, message = rig.posters()
    frozen = rig.victim(point)
    task = story.task_of(rig.product, message)
    try:
        with rig.second_worker():
            rig.ended(message)
            turn = rig.rows.one("select id from turns where task_id = :task order by created_at", task=task)
            os.kill(frozen, signal.SIGCONT)
            rig.product.until("the late result is refused", lambda: _lost_runs(rig, turn))

            assert asked_again(rig, task) == 0
            assert_nothing_lost_or_doubled(rig, task, works=2)
    finally:
        rig.product.kill("worker")


@pytest.mark.boundary(19)
def test_frozen_worker_and_its_successor_send_the_same_job_once(rig: Rig) -> None:
    """Frozen just before it sends; the successor sends; then the first one wakes and sends as well, under one key."""
    point, late = "freeze:provider.submit.before", "provider.submit.after"
    rig.strike(point)
    _, message = rig.posters()
    frozen = rig.victim(point)
    task = story.task_of(rig.product, message)
    try:
        with rig.second_worker():
            rig.ended(message)
            rig.strike(late)
            os.kill(frozen, signal.SIGCONT)

            assert rig.victim(late) == frozen
            assert_nothing_lost_or_doubled(rig, task, works=2)
            epochs = rig.rows.ask("select epoch from orders where task_id = :task", task=task)
            assert max(epoch for (epoch,) in epochs) == 2
    finally:
        rig.product.kill("worker")
