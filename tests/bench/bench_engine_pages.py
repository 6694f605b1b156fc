"""How long the engine's pages take with a long history: `python -m tests.bench.bench_engine_pages [RUNS]`.

Fills a SQLite file with finished runs (100,000 unless told otherwise) of twenty functions: one run in a thousand
failed, and one function has ten runs only, the oldest. Then asks a real engine for every page and prints the median
and the slowest of its answers.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa

from engine.formats import ids
from engine.formats.clock import MachineClock
from engine.storage import tables
from engine.storage.database import EngineDatabase
from engine.storage.registry import REGISTRY_MARK
from tests.engine.engine_process import EngineProcess

_FUNCTIONS = 20
_STEPS = 3
_AT_ONCE = 2000
_ASKED = 15


def rows(runs: int = 100_000) -> list[dict[str, Any]]:
    """A row for each page: the median and the slowest of its answers, and its size."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = Path(folder) / "engine.db"
        addresses = fill(path, runs)
        engine = EngineProcess(f"sqlite:///{path}").start()
        try:
            with httpx.Client(base_url=engine.url, timeout=60) as client:
                return [_asked(client, name, address) for name, address in addresses.items()]
        finally:
            engine.close()


def _asked(client: httpx.Client, name: str, address: str) -> dict[str, Any]:
    took = []
    for _ in range(_ASKED):
        begun = time.perf_counter()
        answer = client.get(address)
        took.append((time.perf_counter() - begun) * 1000)
        answer.raise_for_status()
    return {
        "page": name,
        "median ms": round(statistics.median(took), 1),
        "slowest ms": round(max(took), 1),
        "KiB": round(len(answer.content) / 1024, 1),
    }


def fill(path: Path, count: int) -> dict[str, str]:
    """Write a history of so many finished runs to a fresh SQLite file; returns the pages to ask for."""
    database = EngineDatabase(f"sqlite:///{path}")
    database.create_tables()
    start = MachineClock().now_ms() - count * 100
    functions = [ids.function_id(f"bench-fn{number}") for number in range(_FUNCTIONS)]
    rare, first_id, last_id = functions[-1], "", ""
    with database.engine.begin() as connection:
        _register(connection, functions, start)
        for begin in range(0, count, _AT_ONCE):
            rows = [
                _run(number, start + number * 100, functions[number % (_FUNCTIONS - 1)], rare)
                for number in range(begin, min(begin + _AT_ONCE, count))
            ]
            first_id, last_id = first_id or str(rows[0]["id"]), str(rows[-1]["id"])
            connection.execute(sa.insert(tables.runs), rows)
            connection.execute(sa.insert(tables.events), [event for row in rows for event in _events(row)])
            connection.execute(sa.insert(tables.steps), [step for row in rows for step in _steps(row)])
    database.close()
    middle = ids.ulid(start + count * 50)
    return {
        "overview": "/ui",
        "functions": "/ui/functions",
        "one function": f"/ui/functions/{functions[0]}",
        "events": "/ui/events",
        "events, the engine's own too": "/ui/events?internal=1",
        "events, halfway": f"/ui/events?before={count}",
        "events by name": "/ui/events?name=bench/fn3",
        "events by a name that never came": "/ui/events?name=bench/never",
        "one event": f"/ui/events/{_event_id(last_id)}",
        "runs": "/ui/runs",
        "runs, halfway": f"/ui/runs?before={middle}",
        "runs of an app": "/ui/runs?app=bench",
        "runs of a function": f"/ui/runs?function={functions[3]}",
        "runs of a rare function": f"/ui/runs?function={rare}",
        "failed runs": "/ui/runs?status=FAILED",
        "queued runs (none)": "/ui/runs?status=QUEUED",
        "cancelled runs of a function (none)": f"/ui/runs?function={functions[3]}&status=CANCELLED",
        "runs of the first minute": f"/ui/runs?until={_utc(start + 60_000)}",
        "failed runs of a minute halfway": f"/ui/runs?status=FAILED&from={_utc(start + count * 50)}"
        f"&until={_utc(start + count * 50 + 60_000)}",
        "one run, the first": f"/ui/runs/{first_id}",
        "one run, the last": f"/ui/runs/{last_id}",
    }


def _register(connection: sa.Connection, functions: list[str], now: int) -> None:
    app = {"id": ids.app_id("bench"), "url": "http://127.0.0.1:9/api/inngest", "sdk": "py", "framework": "flask"}
    known = {"version": "", "checksum": "", "sync_id": "", "synced_at": now}
    connection.execute(sa.insert(tables.apps), {"name": "bench", **app, **known})
    connection.execute(sa.insert(tables.marks), {"name": REGISTRY_MARK, "value": 1})
    for number, function_id in enumerate(functions):
        step = {"runtime": {"url": app["url"]}, "retries": {"attempts": 3}}
        config = {"id": f"bench-fn{number}", "name": f"Function {number}", "triggers": [{"event": f"bench/fn{number}"}]}
        row = {"slug": config["id"], "id": function_id, "app": "bench", "version": 1, "archived": False}
        text = json.dumps({**config, "steps": {"step": step}})
        connection.execute(sa.insert(tables.functions), {**row, "config": text, "created_at": now})


def _run(number: int, at: int, function_id: str, rare: str) -> dict[str, object]:
    run_id = ids.ulid(at)
    failed = number % 1000 == 999
    event = {"data": {"n": number}, "id": _event_id(run_id), "name": f"bench/fn{number % 19}", "ts": at, "user": {}}
    return {
        "id": run_id,
        "function_id": rare if number < 10 else function_id,
        "function_version": 1,
        "event_id": event["id"],
        "event_name": event["name"],
        "status": "FAILED" if failed else "COMPLETED",
        "queued_at": at,
        "started_at": at + 2,
        "ended_at": at + 40,
        "output": json.dumps({"message": "m", "name": "Error", "stack": "s"} if failed else {"n": number}),
        "events": json.dumps([event]),
        "state_size": 100,
        "stack_len": _STEPS,
        "plan_only": False,
        "sdk_version": 1,
        "limits": "[]",
        "priority_ms": 0,
    }


def _events(run: dict[str, object]) -> list[dict[str, object]]:
    """What started the run, and what told of its end."""
    at, name = run["queued_at"], run["event_name"]
    sent = {
        "id": run["event_id"],
        "name": name,
        "internal": False,
        "body": json.dumps(json.loads(str(run["events"]))[0]),
    }
    told = {"id": f"{run['id']}-end", "name": "inngest/function.finished", "internal": True, "body": run["events"]}
    return [{**event, "ts": at, "received_at": at} for event in (sent, told)]


def _steps(run: dict[str, object]) -> list[dict[str, object]]:
    queued = int(str(run["queued_at"]))
    return [
        {
            "run_id": run["id"],
            "step_id": f"{place:040x}",
            "op": "StepRun",
            "name": f"step {place}",
            "race": False,
            "position": place,
            "status": "DONE",
            "memo": json.dumps({"data": {"place": place, "text": "x" * 100}}),
            "attempt": 0,
            "queued_at": queued + place * 10,
            "started_at": queued + place * 10,
            "ended_at": queued + place * 10 + 8,
        }
        for place in range(_STEPS)
    ]


def _event_id(run_id: object) -> str:
    return f"event-{run_id}"


def _utc(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1000))


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000):
        print(f"{row['page']:44} median {row['median ms']:7} ms  slowest {row['slowest ms']:7} ms  {row['KiB']:6} KiB")
