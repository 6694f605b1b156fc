"""A run whose process was taken by somebody else is called again by itself, and loses no attempt."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


@pytest.fixture(scope="module")
def loose(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    with local_registry(any_engine, tmp_path_factory.mktemp("home")) as running:
        yield running


def children() -> list[int]:
    """The processes of skills that this one started."""
    told = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    found = [line.split(None, 2) for line in told.splitlines()[1:]]
    return [int(pid) for pid, parent, args in found if parent == str(os.getpid()) and "-m sidecar.child" in args]


def test_a_run_that_lost_its_process_goes_on_without_a_retry(loose: RunningSidecar) -> None:
    """Given a function without retries in the middle of a step, when the process of its version ends, it completes."""
    text = hello(1, "lost/asked").replace("retries=2", "retries=0")
    loose.save("lost", text.replace("lambda: VALUE", "lambda: __import__('time').sleep(3) or VALUE"))
    loose.live("lost", 1)
    loose.ask("lost/asked")
    until("the run", lambda: began(loose), 30)
    time.sleep(1)

    for pid in children():
        os.kill(pid, signal.SIGKILL)

    assert loose.outputs("skill-lost/hello", 1) == [1]


def began(loose: RunningSidecar) -> bool:
    return any(run["status"] == "running" for run in loose.runs("skill-lost/hello"))
