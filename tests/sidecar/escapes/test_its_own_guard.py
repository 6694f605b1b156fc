"""A file that, while it is loaded, takes the guard of its own runs out of service: the sidecar looks after it too."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import UnavailableError
from tests.support.jail_children import JailChildren, subject

pytestmark = pytest.mark.long

BLIND = """
import sidecar.child.zygote as zygote
zygote.Zygote._check_runs = lambda self: None
zygote.Zygote._end_overdue = lambda self, ready: None
"""
MEMORY = """
import os, time
for _ in range(7):
    if os.fork() == 0:
        break
held = bytearray(os.urandom(1)) * (150 * 1024 ** 2)
time.sleep(600)
"""
AT_REST = """
import os
def spin():
    while True:
        pass
os.register_at_fork(after_in_parent=spin)
"""


def test_memory_of_a_version_is_limited_whatever_its_own_guard_does(walled: JailChildren) -> None:
    child = walled.boot(subject(MEMORY) + BLIND)
    began = time.monotonic()
    with pytest.raises(UnavailableError):
        walled.run(child)
    assert time.monotonic() - began < 15
    assert not child.alive


def test_a_process_that_works_while_nobody_called_is_ended(walled: JailChildren) -> None:
    child = walled.boot(subject("return 1") + AT_REST)
    with ThreadPoolExecutor(1) as threads:
        called = threads.submit(walled.run, child)
        assert called.result(20).body == b"1"
    deadline = time.monotonic() + 60
    while child.alive and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not child.alive
