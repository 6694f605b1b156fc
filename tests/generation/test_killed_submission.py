"""A worker that is killed between sending a job and saving its id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from core.clock import SystemClock
from core.errors import BusyError
from generation.orders.states import OrderState
from tests.generation.world import GenerationWorld, StudioOfTests
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]


def known(studio: StudioOfTests, key: str) -> bool:
    try:
        studio.job(key)
    except httpx.HTTPStatusError:
        return False
    return True


@pytest.mark.boundary(31)
@pytest.mark.kill
def test_a_worker_killed_before_it_saved_the_jobs_id_leaves_one_job(
    world: GenerationWorld, the_studio: StudioOfTests, tmp_path: Path
) -> None:
    the_studio.fault("delay_reply:20")
    task = world.task()
    order = world.order(task, world.turn(task))
    program = [sys.executable, "-m", "tests.generation.submission_process", world.database.url, str(tmp_path / "home")]
    worker = subprocess.Popen([*program, world.workspace_id, order.id, the_studio.url], cwd=ROOT)
    try:
        until("the job is stored there", lambda: known(the_studio, order.key), 60)
        assert world.get(order.id).upstream_id is None
        world.store.clock.advance(SystemClock().now() - world.store.clock.now())
        with pytest.raises(BusyError):
            world.submit(order)
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(10)

    world.store.clock.advance(timedelta(seconds=3))
    world.submit(order)

    after = world.get(order.id)
    assert (after.upstream_id, after.epoch) == (the_studio.job(order.key)["id"], 2)
    assert world.follow(order).state is OrderState.SUCCEEDED
    assert [item["idempotency_key"] for item in the_studio.bill()].count(order.key) == 1
    assert world.money("settle") == [order.quote]


@pytest.mark.boundary(18)
@pytest.mark.kill
def test_a_worker_frozen_while_it_sends_is_replaced_and_changes_nothing_when_it_wakes(
    world: GenerationWorld, the_studio: StudioOfTests, tmp_path: Path
) -> None:
    the_studio.fault("delay_reply:3")
    task = world.task()
    order = world.order(task, world.turn(task))
    program = [sys.executable, "-m", "tests.generation.submission_process", world.database.url, str(tmp_path / "home")]
    worker = subprocess.Popen(
        [*program, world.workspace_id, order.id, the_studio.url], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        until("the job is stored there", lambda: known(the_studio, order.key), 60)
        os.kill(worker.pid, signal.SIGSTOP)
        world.store.clock.advance(SystemClock().now() - world.store.clock.now() + timedelta(seconds=3))
        world.submit(order)
        ended = world.follow(order)
        os.kill(worker.pid, signal.SIGCONT)
        _, said = worker.communicate(timeout=60)
    finally:
        worker.kill()
        worker.wait(10)

    assert "LostError" in said
    assert (ended.state, ended.epoch) == (OrderState.SUCCEEDED, 2)
    assert world.get(order.id) == ended
    assert [item["idempotency_key"] for item in the_studio.bill()].count(order.key) == 1
    assert world.money("settle") == [order.quote]
