"""What a process and everything it started takes (Linux)."""

from __future__ import annotations

import os
from pathlib import Path


def tree_ms(pid: int) -> float:
    """Milliseconds of processor time of a process and its descendants, with those that ended and were waited for."""
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    return sum(sum(int(field) for field in _stat(one)[11:15]) for one in tree(pid)) * tick


def memory_mib(pid: int) -> float:
    """Proportional set size: a page that several processes share counts once in all."""
    return sum(_pss_kib(one) for one in tree(pid)) / 1024


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (fields := _stat(int(folder.name))):
            parents[int(folder.name)] = int(fields[1])
    found, fresh = [pid], [pid]
    while fresh:
        fresh = [child for child, parent in parents.items() if parent in fresh]
        found += fresh
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name; empty for one that ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
