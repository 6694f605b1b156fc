"""What the engine costs: a step, a start, many runs, doing nothing, a long history.

`python -m tests.bench.bench_engine [--server URL [--server-pid PID]] [--runs 10000] [--history 100000]` starts an
engine on a SQLite file and an app behind gunicorn. With a server's address the same app is measured with that one too,
and the table shows how many times as much it takes (for runs a second: how many times as many the engine does).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.bench.bench_engine_app import EVENT
from tests.bench.bench_engine_pages import fill
from tests.engine.engine_process import ROOT, EngineProcess, free_port
from tests.engine.waiting import eventually

Figures = dict[str, float]
"""By name of the measure, which ends with its unit."""

STEP, STEP_SLOW = "a step, median ms", "a step, slowest tenth ms"
START, START_SLOW = "event to first call, median ms", "event to first call, slowest tenth ms"
RATE, RATE_BEST = "200 x 3 steps, median runs/s", "200 x 3 steps, best runs/s"
IDLE, MEMORY = "doing nothing, % CPU", "memory, MiB"
STEP_OLD, RATE_OLD = (
    "a step with a history of {:,} runs, median ms",
    "200 x 3 steps with a history of {:,} runs, median runs/s",
)
STEP_GROWTH, RATE_GROWTH = "a step, long history : short", "runs/s, short history : long"
GOALS = {STEP: 3.0, START: 10.0, RATE: 150.0, IDLE: 1.0, STEP_GROWTH: 1.2, RATE_GROWTH: 1.2}

_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE_S = 10.0
_SHORT = 10
_TURNS = 8


class Bench:
    """An app, registered with a server."""

    def __init__(self, server: str, app: str) -> None:
        self.server = httpx.Client(base_url=server, timeout=60)
        self.app = httpx.Client(base_url=app, timeout=60)

    def sync(self) -> None:
        answer = self.app.put("/api/inngest", json={}).json()
        assert answer["ok"] is True, answer

    def send(self, count: int, steps: int) -> None:
        events = [{"name": EVENT, "data": {"token": uuid.uuid4().hex, "steps": steps}} for _ in range(count)]
        self.server.post("/e/bench", json=events).raise_for_status()

    def run(self, count: int, steps: int, *, within: float = 120) -> float:
        """Forget what was, send so many events and wait until all their runs came to the end; the seconds it took."""
        self.app.post("/forget")
        began = time.time()
        self.send(count, steps)
        last = eventually(lambda: self._ended(count), within=within)
        return last - began

    def noted(self) -> list[dict[str, Any]]:
        return list(self.app.get("/noted").json().values())

    def _ended(self, count: int) -> float:
        time.sleep(0.02)
        told = self.app.get("/ended").json()
        return float(told["last"]) if told["count"] >= count else 0.0

    def close(self) -> None:
        self.server.close()
        self.app.close()


def step_times(bench: Bench, runs: int = 6, steps: int = 20) -> list[float]:
    """Milliseconds from the execution of one step to that of the next, one run at a time."""
    gaps = []
    for _ in range(runs):
        bench.run(1, steps)
        (one,) = bench.noted()
        gaps += [(after - before) * 1000 for before, after in zip(one["steps"], one["steps"][1:], strict=False)]
    return gaps


def start_times(bench: Bench, count: int = 40) -> list[float]:
    """Milliseconds from before an event is sent to the function's first call."""
    found = []
    for _ in range(count):
        bench.app.post("/forget")
        began = time.time()
        bench.send(1, 0)
        eventually(lambda: bench.noted() and bench.noted()[0]["end"])
        found.append((bench.noted()[0]["first"] - began) * 1000)
    return found


def rates(bench: Bench, times: int = 3) -> list[float]:
    """Runs of three steps a second."""
    return [200 / bench.run(200, 3) for _ in range(times)]


def measure(bench: Bench, pid: int | None) -> Figures:
    bench.sync()
    bench.run(20, 3)
    steps, starts, many = step_times(bench), start_times(bench), rates(bench)
    found = {
        STEP: statistics.median(steps),
        STEP_SLOW: _tenth(steps),
        START: statistics.median(starts),
        START_SLOW: _tenth(starts),
        RATE: statistics.median(many),
        RATE_BEST: max(many),
    }
    return found if pid is None else {**found, **idle(pid)}


def idle(pid: int) -> Figures:
    time.sleep(1)
    before = _cpu_s(pid)
    time.sleep(_IDLE_S)
    return {IDLE: (_cpu_s(pid) - before) / _IDLE_S * 100, f"{MEMORY} at first": _memory(pid)}


def after_many(bench: Bench, pid: int, runs: int) -> Figures:
    """Memory once so many runs of one step have ended."""
    for _ in range(runs // 500):
        bench.run(500, 1)
    return {f"{MEMORY} after {runs:,} runs": _memory(pid)}


def with_history(app: str, runs: int) -> Figures:
    """A file of ten finished runs and one of this many, measured by turns: whatever else the machine does hits both."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, ExitStack() as stack:
        benches: dict[int, Bench] = {}
        for count in (_SHORT, runs):
            path = Path(folder) / f"engine{count}.db"
            fill(path, count)
            engine = stack.enter_context(engine_on(path))
            benches[count] = stack.enter_context(app_of(engine.url, app))
            benches[count].sync()
            benches[count].run(200, 3)
        steps: dict[int, list[float]] = {count: [] for count in benches}
        many: dict[int, list[float]] = {count: [] for count in benches}
        for _ in range(_TURNS):
            for count, bench in benches.items():
                steps[count] += step_times(bench, runs=2)
                many[count] += rates(bench, times=1)
        step = {count: statistics.median(found) for count, found in steps.items()}
        rate = {count: statistics.median(found) for count, found in many.items()}
        return {
            **{STEP_OLD.format(count): step[count] for count in benches},
            STEP_GROWTH: step[runs] / step[_SHORT],
            **{RATE_OLD.format(count): rate[count] for count in benches},
            RATE_GROWTH: rate[_SHORT] / rate[runs],
        }


@contextmanager
def engine_on(path: Path) -> Iterator[EngineProcess]:
    engine = EngineProcess(f"sqlite:///{path}", retry_interval=None).start()
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def app_of(server: str, app_id: str) -> Iterator[Bench]:
    """A gunicorn with one process of 32 threads, as the measurements of the real server had it."""
    port = free_port()
    told = {**os.environ, "BENCH_SERVER": server, "BENCH_APP": app_id, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gunicorn", "-k", "gthread", "--threads", "32", "-w", "1", "--keep-alive", "75"]
    command += ["-b", f"127.0.0.1:{port}", "--log-level", "error", "tests.bench.bench_engine_app:make()"]
    process = subprocess.Popen(command, cwd=ROOT, env=told)
    bench = Bench(server, f"http://127.0.0.1:{port}")
    try:
        eventually(lambda: _answers(bench.app), within=60)
        yield bench
    finally:
        bench.close()
        process.terminate()
        process.wait(timeout=30)


def rows(
    *, server: str | None = None, server_pid: int | None = None, runs: int = 10_000, history: int = 100_000
) -> list[dict[str, Any]]:
    """The rows of the table."""
    app = f"bench{uuid.uuid4().hex[:6]}"
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with engine_on(Path(folder) / "engine.db") as engine, app_of(engine.url, app) as bench:
            ours = measure(bench, engine.pid)
            if runs:
                ours |= after_many(bench, engine.pid, runs)
        theirs: Figures = {}
        if server is not None:
            with app_of(server, app) as bench:
                theirs = measure(bench, server_pid)
                if runs and server_pid is not None:
                    theirs |= after_many(bench, server_pid, runs)
    if history:
        ours |= with_history(app, history)
    return [_row(name, figure, theirs.get(name)) for name, figure in ours.items()]


def _row(name: str, ours: float, theirs: float | None) -> dict[str, Any]:
    row: dict[str, Any] = {"measure": name, "engine": round(ours, 2), "goal": GOALS.get(name, "")}
    if theirs is not None:
        ratio = ours / theirs if name.endswith("runs/s") else theirs / ours if ours else 0.0
        row |= {"server": round(theirs, 2), "ratio": round(ratio, 1)}
    return row


def _answers(app: httpx.Client) -> bool:
    try:
        return app.get("/ended").status_code == 200
    except httpx.TransportError:
        return False


def _tenth(found: list[float]) -> float:
    return sorted(found)[int(len(found) * 0.9)]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_engine", description=__doc__)
    add_server_options(parser)
    parser.add_argument("--runs", type=int, default=10_000, help="before memory is looked at; 0: not")
    parser.add_argument("--history", type=int, default=100_000, help="finished runs of the long history; 0: not")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found = rows(server=options.server, server_pid=options.server_pid, runs=options.runs, history=options.history)
    print(f"{os.cpu_count()} cores, load {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    names = ("measure", "engine", "goal", "server", "ratio")
    for row in [dict(zip(names, names, strict=True)), *found]:
        print(f"{row['measure']:<64}" + "".join(f"{row.get(name, '')!s:>10}" for name in names[1:]))
    print(json.dumps({"cores": os.cpu_count(), "load_before": round(load, 1), "rows": found}))


def add_server_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", help="address of another server, to compare the engine with")
    parser.add_argument("--server-pid", type=int, help="its process, when it is on this machine")


if __name__ == "__main__":
    main()
