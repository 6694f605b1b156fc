"""Find the best isolation that works here, by starting a child in each kind until one wakes up."""

from __future__ import annotations

import os
import platform
import re
import select
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sidecar.child import landlock
from sidecar.child.ipc import ChildAnswer
from sidecar.child.system_calls import can_refuse_system_calls
from sidecar.jail import bubblewrap, exposed_files
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.jail import Jail

_WAKE_SECONDS = 60.0


def probe_isolation() -> Isolation:
    """Return the best isolation in which a child really starts; takes about as long as a child's start."""
    *better, last = possible_isolations()
    return next((one for one in better if isolation_works(one)), last)


def isolation_works(isolation: Isolation) -> bool:
    """Return whether a child wakes up in it. An installed program may not be allowed to work, as in many containers."""
    with tempfile.TemporaryDirectory(prefix="loopwright-probe-") as folder:
        jail = Jail(Path(folder) / "run", isolation)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            inmate = jail.start(theirs.fileno())
            try:
                return _wakes_up(inmate.process.stdout.fileno() if inmate.process.stdout else -1)
            finally:
                jail.end(inmate)
                jail.close()


def possible_isolations() -> Iterator[Isolation]:
    """Yield isolations from the best down; the last one needs nothing."""
    refuses, fence = can_refuse_system_calls(), landlock.landlock_version()
    runs = fence >= landlock.SIGNALS_SINCE
    found = [replace(one, refuses_calls=refuses, fences_runs=runs) for one in _levels(root=os.geteuid() == 0)]
    for one in found:
        yield one if one.level is Level.BUBBLEWRAP else replace(one, fence=fence)
    yield replace(found[-1], refuses_calls=False, fences_runs=False)


def _levels(*, root: bool) -> Iterator[Isolation]:
    if bubblewrap.find_bubblewrap():
        if root:
            yield Isolation(Level.BUBBLEWRAP, own_user=True, own_network=True, counts_processes=True)
        # Linux counts a namespace's processes separately since 5.14, but never those of root.
        counts = not root and _kernel() >= (5, 14)
        yield Isolation(Level.BUBBLEWRAP, own_user=False, own_network=True, counts_processes=counts)
    if root and sys.platform == "linux":
        # A process that may leave the network may often mount a file system too.
        for own_network, own_disk in ((True, True), (True, False), (False, False)):
            for interpreter in exposed_files.usable_interpreters():
                user = Isolation(Level.USER, own_user=True, own_network=own_network, counts_processes=True)
                yield replace(user, interpreter=interpreter, own_disk=own_disk)
        for own_disk in (True, False):
            last = Isolation(Level.LIMITS, own_user=False, own_network=True, counts_processes=False)
            yield replace(last, own_disk=own_disk)
    yield Isolation(Level.LIMITS, own_user=False, own_network=False, counts_processes=False)


def _kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _wakes_up(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(_WAKE_SECONDS * 1000):
        return False
    line = os.read(fd, 65536)
    return line.endswith(b"\n") and ChildAnswer.model_validate_json(line).state == "awake"
