"""A process that is ended before it has begun leaves nothing of itself behind."""

from __future__ import annotations

import random
import socket
import time
from pathlib import Path

from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation


def _of(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in entry.joinpath("cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_nothing_is_left_of_one_that_is_ended_at_once(tmp_path: Path) -> None:
    jail = Jail(tmp_path / "run", probe_isolation())
    for _ in range(40):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            inmate = jail.start(theirs.fileno())
            time.sleep(random.uniform(0, 0.015))
            jail.end(inmate)
    jail.close()

    deadline = time.monotonic() + 10
    while (left := _of(tmp_path / "run")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
