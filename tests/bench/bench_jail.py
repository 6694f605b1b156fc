"""What the jail costs: starting a child, a call through it, and memory while it idles.

Run as `python -m tests.bench jail`. Times are on the wall; processor time, which load changes less, is beside them. The
calls are of a function with one step, as the engine makes them; the answer is read and written anew as in the sidecar.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.jail.probe import probe_isolation
from tests.support.jail_children import JailChildren, jailed, subject

BOOTS, CALLS, IDLE = 10, 200, 10
SKILL = subject('return ctx.step.run("answer", lambda: {"text": "hello" * 100})')
_TICK = 1000 / os.sysconf("SC_CLK_TCK")


def rows(say: Callable[[str], None]) -> list[dict[str, Any]]:
    isolation = probe_isolation()
    say(f"isolation: {isolation.words}")
    found = []
    with tempfile.TemporaryDirectory() as folder, jailed(Path(folder), isolation) as prison:
        found.append(_starts(prison))
        say(str(found[-1]))
        found.append(_calls(prison))
        say(str(found[-1]))
        found.append(_memory(prison))
        say(str(found[-1]))
    return found


def _starts(prison: JailChildren) -> dict[str, Any]:
    """From the order to the child that serves, with a spare awake, as it is when somebody saves a file."""
    prison.boot(SKILL)
    taken = []
    for _ in range(BOOTS):
        # The next spare wakes up meanwhile.
        time.sleep(4)
        began = time.perf_counter()
        prison.boot(SKILL)
        taken.append((time.perf_counter() - began) * 1000)
    return _row("load a skill (spare awake)", taken, "ms", None)


def _calls(prison: JailChildren) -> dict[str, Any]:
    child = prison.boot(SKILL)
    prison.run(child)
    taken = []
    with processor() as spent:
        for _ in range(CALLS):
            began = time.perf_counter()
            prison.run(child)
            taken.append((time.perf_counter() - began) * 1000)
    return _row("one call through the jail", taken, "ms", spent[0] / CALLS)


def _memory(prison: JailChildren) -> dict[str, Any]:
    """Proportional share of all processes that belong to one child, after a call, while others of its kind live."""
    children = [prison.boot(SKILL) for _ in range(IDLE)]
    for child in children:
        prison.run(child)
    time.sleep(1)
    taken = [sum(_pss(pid) for pid in _family(child.pid)) / 1024 for child in children]
    return _row("memory of an idle skill", taken, "MiB", None)


def _row(what: str, taken: list[float], unit: str, cpu: float | None) -> dict[str, Any]:
    return {
        "what": what,
        "median": round(statistics.median(taken), 1),
        "slowest_tenth": round(sorted(taken)[int(len(taken) * 0.9)], 1),
        "unit": unit,
        "count": len(taken),
        "cpu_ms": round(cpu, 2) if cpu is not None else "",
    }


@contextmanager
def processor() -> Iterator[list[float]]:
    """Milliseconds of processor time of this process and of all below it, those that ended meanwhile included."""
    spent = [0.0]
    before = _spent()
    yield spent
    spent[0] = _spent() - before


def _spent() -> float:
    total = 0.0
    for pid in {os.getpid(), *_family(os.getpid())}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) * _TICK
    return total


def _family(pid: int) -> list[int]:
    found = [pid]
    for known in found:
        for task in Path(f"/proc/{known}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def _pss(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("Pss:"))
