"""How much memory a process and all below it hold."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def memory_of_family(pid: int) -> int:
    """Bytes in memory that are not files'; what processes share since a fork counts for each of them."""
    family, total = [pid], 0
    for member in family:
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = Path(f"/proc/{member}/statm").read_text().split()
            total += (int(resident) - int(shared)) * _PAGE
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{member}/task").iterdir():
                family += [int(child) for child in task.joinpath("children").read_text().split()]
    return total
