"""A workspace with money, a turn that may act, and a real studio over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
from pydantic import SecretStr

import workspace.objects
from app.supervision.ports import free_ports
from core.clock import SystemClock
from core.database import Database, Scope
from core.llm.port import Decision, ProposedCall, TokenUsage
from core.settings import Settings
from core.tools import CallContext, Effect, Tool, ToolResult
from generation.approval.answers import order_card_answers
from generation.approval.place import PlacementDependencies
from generation.execution.poll import poll_order
from generation.execution.progress import OrderProgress
from generation.execution.settlement import settle_order
from generation.execution.submission import submit_order
from generation.orders.order import Order, get_order, list_orders
from generation.orders.states import OrderState
from generation.providers.capabilities import Capabilities
from generation.providers.jobs import JobsProvider
from generation.providers.port import Provider
from generation.tools import generation_tools
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card, list_open_cards
from runtime.inbox.turn_queue import wake_task
from runtime.tables import budgets, entries, reservations
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from runtime.turns import ledger, ledger_queries
from runtime.turns.lease import TurnFence, enter_turn, take_lease
from standins.studio.config import StudioConfig
from standins.studio.server import close, create_app
from tests.support.databases import Store
from tests.support.wsgi import serving
from workspace.assets import Assets
from workspace.state import version_of
from workspace.works import file_output

KEY = "jobs-key-of-the-tests"
CHEAP: dict[str, dict[str, Any]] = {
    "generate_audio": {"prompt": "Waves", "title": "Waves", "seconds": 3},
    "generate_image": {"prompt": "A harbour at dusk", "title": "Poster", "size": "1024x1024"},
    "generate_video": {"prompt": "A harbour", "title": "Film", "seconds": 3},
    "generate_model3d": {"prompt": "A boat", "title": "Boat"},
    "enhance": {},
}
FILM_8 = ("generate_video", {"prompt": "A harbour", "title": "Film", "seconds": 8})
"""Costs 0.40, above the free 0.30 of one act."""
FILM_5 = ("generate_video", {"prompt": "A harbour", "title": "Film", "seconds": 5})
PICTURE = ("generate_image", CHEAP["generate_image"])
"""Costs 0.04."""


class StudioOfTests:
    """The offline studio, in this process, reached over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url
        # One client for all: each would read the certificates of the world, for a loopback address.
        self._http = httpx.Client(base_url=url, verify=False, timeout=30)

    def fault(self, name: str, times: int | None = 1, kind: str | None = None) -> None:
        order = {"next": name, "times": times, "match": {"kind": kind}}
        self._http.post("/faults", json=order).raise_for_status()

    def heal(self) -> None:
        self._http.delete("/faults").raise_for_status()

    def close(self) -> None:
        self._http.close()

    def bill(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._http.get("/bill").raise_for_status().json()["items"]
        return items

    def job(self, key: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {KEY}"}
        answer = self._http.get("/jobs", params={"idempotency_key": key}, headers=headers)
        shown: dict[str, Any] = answer.raise_for_status().json()
        return shown


@contextmanager
def studio(folder: Path, pace: float = 0) -> Iterator[StudioOfTests]:
    port = free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    app = create_app(StudioConfig(folder, KEY, url, pace=pace, faults=True, clock=SystemClock()))
    try:
        with serving(app, port):
            yield StudioOfTests(url)
    finally:
        close(app)


@dataclass(frozen=True)
class GenerationWorldDependencies:
    settings: Settings
    database: Database
    providers: dict[str, Provider]
    capabilities: Capabilities
    assets: Assets


@dataclass
class GenerationWorld:
    """What the tests act on; `turn` and `call` play the runtime."""

    store: Store
    dependencies: GenerationWorldDependencies
    capabilities: Capabilities
    tools: dict[str, Tool] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.store.database

    @property
    def workspace_id(self) -> str:
        return self.store.workspace_id

    def task(self, goal: str = "posters", kind: str = "persistent", asked_by: str = "person") -> Task:
        with self.database.transaction(self.workspace_id) as scope:
            return tasks.create_task(
                scope,
                kind=kind,
                goal=goal,
                language="en",
                person_id=self.store.person_id,
                asked_by=asked_by,
                cause=f"test:{goal}",
            )

    def turn(self, task: Task, cause: str = "test") -> TurnFence:
        """A turn of the task, entered and held for long."""
        with self.database.transaction(self.workspace_id) as scope:
            turn_id = wake_task(scope, task.id, f"{cause}:{task.id}")
            assert turn_id is not None
            assert enter_turn(scope, turn_id, "run", timedelta(seconds=30))
            fence, _turn = take_lease(scope, turn_id, "run", timedelta(days=30))
            return fence

    def decide(self, fence: TurnFence, n: int, *calls: tuple[str, dict[str, Any]]) -> None:
        """Record a decision that proposes these calls."""
        proposed = tuple(ProposedCall(str(i), name, json.dumps(args)) for i, (name, args) in enumerate(calls))
        effects = {name: tool.effect for name, tool in self.tools.items()}
        with self.database.transaction(self.workspace_id) as scope:
            ledger.record_decision(scope, fence, n, Decision("", proposed, "test", TokenUsage()), effects, {})

    def call(
        self, task: Task, fence: TurnFence, n: int, seq: int, asked_by: str = "person", person_id: str | None = None
    ) -> ToolResult:
        """Run a recorded call, as the runtime does; may be run again."""
        with self.database.reading(self.workspace_id) as scope:
            recorded = ledger_queries.get_call(scope, f"{fence.turn_id}:{n}:{seq}")
        tool = self.tools[recorded.tool]
        context = self.context(task, fence, recorded.id, asked_by, person_id)
        return tool.run(context, tool.arguments.model_validate_json(recorded.arguments))

    def context(
        self, task: Task, fence: TurnFence, call_id: str, asked_by: str = "person", person_id: str | None = None
    ) -> CallContext:
        return CallContext(
            database=self.database,
            fence=fence,
            workspace_id=self.workspace_id,
            person_id=person_id or self.store.person_id,
            asked_by=asked_by,
            task_id=task.id,
            turn_id=fence.turn_id,
            call_id=call_id,
            language="en",
        )

    def order(self, task: Task, fence: TurnFence, n: int = 1, tool: str = "generate_audio", **arguments: Any) -> Order:
        """One work, ordered by a decision of its own; a sound, which is quickly made, unless another is asked for."""
        self.decide(fence, n, (tool, CHEAP[tool] | arguments))
        return self.get(str(self.call(task, fence, n, 0).content["order_id"]))

    def answer(self, card: Card, option: str, person_id: str | None = None) -> Card:
        answers = CardAnswers(order_card_answers(version_of))
        with self.database.transaction(self.workspace_id) as scope:
            return answer_card(scope, card.id, option, None, person_id or self.store.person_id, answers)

    def get(self, order_id: str) -> Order:
        with self.database.reading(self.workspace_id) as scope:
            return get_order(scope, order_id)

    def orders(self) -> list[Order]:
        with self.database.reading(self.workspace_id) as scope:
            return list_orders(scope)

    def cards(self, task: Task | None = None) -> list[Card]:
        with self.database.reading(self.workspace_id) as scope:
            return list_open_cards(scope, None if task is None else task.id)

    def submit(self, order: Order) -> OrderProgress:
        return submit_order(self.dependencies, self.workspace_id, order.id)

    def poll(self, order: Order) -> OrderProgress:
        return poll_order(self.dependencies, self.workspace_id, order.id)

    def settle(self, order: Order) -> OrderProgress:
        return settle_order(self.dependencies, file_output, self.workspace_id, order.id)

    def follow(self, order: Order, looks: int = 400, pause: float = 0.05) -> Order:
        """Do what the durable function does, without waiting its whole pauses."""
        found = self.poll(order)
        for _ in range(looks):
            if found.next != "wait":
                break
            if found.state == OrderState.ORDERED:
                # A provider that is busy says when to come again.
                self.store.clock.advance(timedelta(seconds=found.pause))
            time.sleep(pause)
            found = self.poll(order)
        if found.next == "settle":
            self.settle(order)
        return self.get(order.id)

    def limits(self, **values: Any) -> None:
        with self.database.transaction(self.workspace_id) as scope:
            scope.change(scope.update(budgets).values(**values))

    def money(self, kind: str) -> list[Any]:
        """Amounts of the entries of a kind, oldest first."""
        with self.database.reading(self.workspace_id) as scope:
            rows = scope.rows(scope.select(entries).where(entries.c.kind == kind).order_by(entries.c.at, entries.c.id))
            return [row.amount for row in rows]

    def reservation_states(self) -> list[str]:
        with self.database.reading(self.workspace_id) as scope:
            return [row.state for row in scope.rows(scope.select(reservations).order_by(reservations.c.created_at))]

    def first(self, statement: Any) -> sa.Row[Any] | None:
        with self.database.reading(self.workspace_id) as scope:
            return scope.first(statement(scope))

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        with self.database.transaction(self.workspace_id) as scope:
            yield scope


def world_of(store: Store, home: Path, provider: Provider, **settings: Any) -> GenerationWorld:
    """A world whose only provider is this one."""
    providers = {provider.name: provider}
    capabilities = Capabilities(providers, store.clock)
    dependencies = GenerationWorldDependencies(
        settings=Settings(home=home, **settings),
        database=store.database,
        providers=providers,
        capabilities=capabilities,
        assets=Assets(f"file://{home / 'assets'}"),
    )
    world = GenerationWorld(store, dependencies, capabilities)
    placement = PlacementDependencies(capabilities, workspace.objects, dependencies.settings.overrun_factor)
    world.tools = {tool.name: tool for tool in generation_tools(placement)}
    assert all(isinstance(tool.effect, Effect) for tool in world.tools.values())
    return world


def studio_provider(studio: StudioOfTests, **options: Any) -> JobsProvider:
    return JobsProvider("studio", studio.url, SecretStr(KEY), **options)
