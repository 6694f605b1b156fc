"""What skills cost: from a save to a live and an invoked skill, a call through the jail, memory, doing nothing.

A sidecar beside the embedded engine, on SQLite, as `loopwright up` runs them. Processor time is that of the sidecar
with all its children, which load changes less than the time on the wall.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from skills.book import runs
from tests.bench.process_tree import memory_mib, tree_ms
from tests.support.engines import embedded, running
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

SAVES = 20
CALLS = 100
OTHERS = 10
IDLE_SECONDS = 20.0


def rows() -> list[dict[str, Any]]:
    with _beside_engine() as skills:
        return [*_saves(skills), _calls(skills), _memory(skills), _idle(skills)]


@contextmanager
def _beside_engine() -> Iterator[RunningSidecar]:
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "engine").mkdir()
        with running(embedded(Path(folder) / "engine")) as engine, sidecar(engine, Path(folder) / "home") as skills:
            # What is shipped is looked at first.
            time.sleep(10)
            yield skills


def _saves(skills: RunningSidecar) -> Iterator[dict[str, Any]]:
    live, invoked, began_cpu = [], [], tree_ms(skills.pid)
    for number in range(1, SAVES + 1):
        began = time.monotonic()
        skills.save("bench", hello(number, "bench/asked"))
        skills.live("bench", number)
        live.append(time.monotonic() - began)
        skills.ask("bench/asked")
        until("the run", partial(_ended, skills, number), 60, 0.005)
        invoked.append(time.monotonic() - began)
        time.sleep(0.5)
    cpu = (tree_ms(skills.pid) - began_cpu) / SAVES
    yield _row("save to live", live[1:], cpu)
    yield _row("save to a finished run", invoked[1:], cpu)


def _calls(skills: RunningSidecar) -> dict[str, Any]:
    cpu, took = tree_ms(skills.pid), []
    for number in range(1, CALLS + 1):
        began = time.monotonic()
        skills.ask("bench/asked")
        until("the run", partial(_ended, skills, SAVES + number), 60, 0.002)
        took.append(time.monotonic() - began)
    # A run of one step is called twice.
    return _row(
        "a call through the jail (half a run of one step)", [t / 2 for t in took], _share(skills, cpu, 2 * CALLS)
    )


def _memory(skills: RunningSidecar) -> dict[str, Any]:
    before = memory_mib(skills.pid)
    for number in range(OTHERS):
        skills.save(f"other_{number}", hello(number, f"other/{number}"))
    for number in range(OTHERS):
        skills.live(f"other_{number}", 1)
    time.sleep(2)
    each = (memory_mib(skills.pid) - before) / OTHERS
    return {"what": f"memory of an idle skill, one of {OTHERS} (MiB, PSS)", "median": round(each, 1)} | _nothing()


def _idle(skills: RunningSidecar) -> dict[str, Any]:
    cpu = tree_ms(skills.pid)
    time.sleep(IDLE_SECONDS)
    percent = (tree_ms(skills.pid) - cpu) / (IDLE_SECONDS * 10)
    return {"what": f"doing nothing, with {OTHERS + 1} skills (% of a core)", "median": round(percent, 2)} | _nothing()


def _ended(skills: RunningSidecar, count: int) -> bool:
    with skills.reading() as scope:
        return sum(run.status == "completed" for run in runs.list_skill_runs(scope, "bench", count + 5)) >= count


def _share(skills: RunningSidecar, before: float, count: int) -> float:
    return (tree_ms(skills.pid) - before) / count


def _row(what: str, seconds: list[float], cpu: float) -> dict[str, Any]:
    ordered = sorted(one * 1000 for one in seconds)
    return {
        "what": f"{what} (ms)",
        "median": round(statistics.median(ordered), 1),
        "slowest_tenth": round(ordered[int(len(ordered) * 0.9)], 1),
        "times": len(ordered),
        "sidecar_cpu": round(cpu, 1),
    }


def _nothing() -> dict[str, Any]:
    return {"slowest_tenth": "", "times": "", "sidecar_cpu": ""}
