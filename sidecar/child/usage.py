"""What a process and all below it hold."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from sidecar.child.family import family

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Usage:
    """`memory` is in bytes that are not files'; what processes share since a fork counts for each of them.

    `processes` are its threads, too, as the system counts them.
    """

    memory: int
    processes: int


def usage_of_family(pid: int) -> Usage:
    """Of what is there just now."""
    total, processes = 0, 0
    for member, tasks in family(pid):
        processes += len(tasks)
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = Path(f"/proc/{member}/statm").read_text().split()
            total += (int(resident) - int(shared)) * _PAGE
    return Usage(total, processes)
