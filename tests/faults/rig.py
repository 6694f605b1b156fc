"""A running product with a model and a studio of its own, whose processes die at the points that a test names."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import httpx
import sqlalchemy as sa

from app.supervision.ports import free_ports
from core.process.crash import FROM_FILE
from tests.generation.world import StudioOfTests
from tests.studio.running import KEY as JOBS_KEY
from tests.support import story
from tests.support.product import Product
from tests.support.template import ForkedProcess, loaded_product
from tests.support.waiting import until

MODEL_KEY = "a-key-of-these-tests"
TOWNS = iter(
    f"{first}{middle}{last}"
    for first in ("North", "South", "East", "West")
    for middle in ("", "ing", "er", "al")
    for last in ("ham", "port", "field", "ford", "wick", "mouth", "bridge", "haven", "gate", "cliff", "moor", "ton")
)


@dataclass(frozen=True)
class ModelRequest:
    """One request for a decision; `history` grows with every step and so identifies the step."""

    at: datetime
    history: int


def says(text: str) -> dict[str, Any]:
    """Return an answer to be replayed that ends a turn."""
    return {"text": text}


def calls(*made: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an answer to be replayed that calls tools."""
    return {"calls": [{"name": name, "arguments": dict(arguments)} for name, arguments in made]}


class RigModel:
    """The stand-in model: its log of requests, and orders to misbehave."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, verify=False, timeout=30)

    def close(self) -> None:
        self._http.close()

    def misbehave(self, how: str, times: int = 1, thread: str = "task") -> None:
        order = {"next": how, "times": times, "match": {"thread": thread}}
        self._http.post("/faults", json=order).raise_for_status()

    def replay(self, *answers: Mapping[str, Any]) -> None:
        """Replay these decisions in tasks, in their order, and make no other until it is healed."""
        recording = {"answers": answers, "match": {"thread": "task"}}
        self._http.post("/replay", json=recording).raise_for_status()

    def heal(self) -> None:
        for desk in ("/faults", "/replay"):
            self._http.delete(desk).raise_for_status()

    def requests(self, of: str) -> list[dict[str, Any]]:
        """Return the requests whose last message contains `of`, oldest first."""
        rows = self._http.get("/log").raise_for_status().json()["items"]
        return [row for row in rows if of in json.dumps(row["request"].get("messages", [])[-1:])]

    def decisions(self, task_id: str) -> list[ModelRequest]:
        """Return the requests for a decision of this task, each with its time and the length of the history."""
        shown = f'\\"id\\": \\"{task_id}\\"'
        return [
            ModelRequest(datetime.fromisoformat(row["at"]), len(row["request"]["messages"]))
            for row in self.requests(task_id)
            if row["request"].get("tools") and shown in json.dumps(row["request"]["messages"][-1:])
        ]

    def judged_again(self, town: str) -> int:
        """Count the repeated requests for where a message belongs, for the route or for a duplicate."""
        asked = [row["request"].get("response_format", {}) for row in self.requests(town)]
        kinds = [one.get("json_schema", {}).get("name") for one in asked]
        # The memory reads the message too, later and for itself.
        judged = [kind for kind in kinds if kind in ("route", "duplicate_check")]
        assert judged, "it was never asked"
        return len(judged) - len(set(judged))


class RigRows:
    """The product's database, read from outside while it works."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url)

    def ask(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        with self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query), values)]

    def one(self, query: str, **values: Any) -> Any:
        """Return the first column of the first row, or None."""
        found = self.ask(query, **values)
        return found[0][0] if found else None

    def close(self) -> None:
        self._engine.dispose()


@dataclass
class Rig:
    product: Product
    studio: StudioOfTests
    model: RigModel
    rows: RigRows
    database_url: str
    _strikes: list[str] = field(default_factory=list)

    @property
    def _crash(self) -> Path:
        return self.product.home / "crash"

    def strike(self, *entries: str) -> None:
        """Let the product's processes die at these points, once each; earlier plans are dropped."""
        for marker in self._crash.iterdir():
            marker.unlink()
        self._strikes = list(entries)
        fresh = self._crash / "plan.new"
        fresh.write_text(",".join(entries))
        fresh.replace(self._crash / "plan")

    def struck(self) -> list[str]:
        """Return the planned points that have been reached so far."""
        return [entry for entry in self._strikes if (self._crash / entry).exists()]

    def victim(self, entry: str, seconds: float = 60) -> int:
        """Wait until an entry has struck a process and return its id."""
        marker = self._crash / entry
        return int(self.product.until(entry, lambda: marker.exists() and marker.read_text(), seconds))

    def peace(self) -> None:
        """Undo freezing, plans and misbehaviour, and wait so that no late turn meets the next test's points."""
        for entry in self.struck():
            if entry.startswith("freeze:"):
                _end_if_frozen(int((self._crash / entry).read_text()))
        self.strike()
        self.studio.heal()
        self.model.heal()
        self.product.until("every turn's run has ended", lambda: not self._running("run-turn"), 120)

    def _running(self, function: str) -> bool:
        """Return whether one of the newest runs has not ended."""
        newest = self.product.get("/api/v1/runs", function=function, limit="20")["items"]
        return any(run["status"] in ("queued", "running") for run in newest)

    def say(self, text: str, **more: object) -> str:
        """Post a message until it is answered, again under the same id, as a client does whose connection breaks."""
        client_id = f"client-{time.monotonic_ns()}"

        def posted() -> str | None:
            try:
                return self.product.say(text, client_id=client_id, **more)
            except httpx.TransportError:
                return None

        return str(until("the message is taken in", posted, 60))

    def posters(self, count: str = "two") -> tuple[str, str]:
        """Order posters for a town that no test has named yet; return its name and the message."""
        town = next(TOWNS)
        return town, self.say(f"Make me a set of {count} posters for the {town} Festival, navy and cream.")

    def ended(self, message_id: str, *statuses: str, seconds: float = 90) -> str:
        """Wait until the message's task has one of `statuses`, and return its id."""
        task_id = story.task_of(self.product, message_id, seconds)
        story.ended(self.product, task_id, *statuses, seconds=seconds)
        return task_id

    @contextmanager
    def second_worker(self) -> Iterator[int]:
        """Run a second worker of the same home, as on another machine, and yield its process."""
        log = (self.product.home / "logs" / "worker-2.log").open("ab")
        process = self._start_worker(log)
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)
            log.close()

    def _start_worker(self, log: IO[bytes]) -> ForkedProcess:
        """Start it on a free port, and on another one where that port was taken meanwhile."""
        for _ in range(3):
            port = free_ports(1)[0]
            env = {**self.product.env, **self._facts(), "LOOPWRIGHT_WORKER_URL": f"http://127.0.0.1:{port}"}
            told = ["serve", "worker", "--home", str(self.product.home), "--port", str(port)]
            process = loaded_product().start(told, env, log.fileno())
            answering = partial(_stands, process, f"http://127.0.0.1:{port}/readyz")
            until("the second worker", answering, 60)
            if process.poll() is None:
                return process
        raise AssertionError("no second worker starts; see logs/worker-2.log in the home")

    def _facts(self) -> dict[str, str]:
        """Return the environment that the supervisor gives a process."""
        keys = self.product.home / "keys"
        return {
            "INNGEST_DEV": "0",
            "INNGEST_BASE_URL": f"http://127.0.0.1:{self.product.row('engine').port}",
            "INNGEST_EVENT_KEY": (keys / "event").read_text().strip(),
            "INNGEST_SIGNING_KEY": (keys / "signing").read_text().strip(),
            "LOOPWRIGHT_WEB_URL": self.product.url,
            "LOOPWRIGHT_CRASH_AT": "",
        }


def settings_of(studio: StudioOfTests, model: RigModel, database_url: str) -> dict[str, str]:
    """Return the settings of a product with crash points and with the test's model and studio."""
    return {
        "LOOPWRIGHT_CRASH_AT": FROM_FILE,
        "LOOPWRIGHT_DATABASE_URL": database_url,
        # Dozens of stories of one product in one day: none of them is about the day's free allowance.
        "LOOPWRIGHT_FREE_PER_DAY": "50",
        "LOOPWRIGHT_GENERATORS": "jobs",
        "LOOPWRIGHT_JOBS_URL": studio.url,
        "LOOPWRIGHT_JOBS_KEY": JOBS_KEY,
        # What dies in the middle of a step is waited for as long as this.
        "LOOPWRIGHT_LEASE_SECONDS": "2",
        "OPENAI_API_KEY": MODEL_KEY,
        "OPENAI_BASE_URL": f"{model.url}/v1",
    }


def _end_if_frozen(pid: int) -> None:
    """Kill frozen processes that a test has left: they would stop every test after it."""
    with suppress(ProcessLookupError, FileNotFoundError):
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            os.kill(pid, signal.SIGKILL)


def _stands(process: ForkedProcess, url: str) -> bool:
    """Return whether a process answers or has ended."""
    return process.poll() is not None or _answers(url)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
