"""Who sleeps is told from who works, however slowly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sidecar.child.process_tree import Idleness
from tests.support.waiting import until

SLEEPS = "import time; time.sleep(600)"
SPINS = "while True: pass"
SPINS_BESIDE = (
    "import threading, time\ndef spin():\n while True: pass\nthreading.Thread(target=spin).start(); time.sleep(600)"
)
SPINS_BELOW = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{SPINS}'])"


@contextmanager
def process(code: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", code], process_group=0)
    try:
        yield started
    finally:
        subprocess.run(["kill", "-KILL", "--", f"-{started.pid}"], check=True)
        started.wait(10)


def test_who_sleeps_looks_idle() -> None:
    with process(SLEEPS) as sleeper:
        idleness = Idleness(sleeper.pid)
        until("it looks idle, time and again", lambda: all(idleness.looks_idle() for _ in range(10)), 30)


@pytest.mark.parametrize("code", [SPINS, SPINS_BESIDE, SPINS_BELOW])
def test_who_works_never_does(code: str) -> None:
    with process(code) as worker:
        idleness = Idleness(worker.pid)
        # Once it has begun.
        until("it works, time and again", lambda: not any(idleness.looks_idle() for _ in range(200)), 30)
