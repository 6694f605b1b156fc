"""The agent without an engine: bells are kept, and whoever hears one works step by step, as the functions do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from app.clients import make_inngest_client
from app.compose import AppDependencies
from core.database import Scope
from core.errors import BusyError, LoopwrightError, LostError, ModelError, UnavailableError
from core.events import GenerationNews, GenerationOrdered, MessageReceived, TurnRequested
from core.llm.port import Decision
from core.llm.scripted_model import ScriptedModel, says
from core.settings import Settings
from functions.routable_works import RoutableWorks
from generation.execution.callbacks import record_callback
from generation.execution.poll import poll_order
from generation.execution.settlement import settle_order
from generation.providers.port import JobNews
from router import dispatch
from router import judgement as routing
from router.dependencies import RouterDependencies
from runtime import recovery
from runtime.cards.answers import answer_card
from runtime.cards.cards import Card, list_open_cards
from runtime.inbox import messages
from runtime.inbox.messages import Message
from runtime.loop import entry, tool_call, turn_end
from runtime.loop.decision import decide_step
from runtime.tables import budgets, entries
from runtime.tasks import tasks
from runtime.tasks.tasks import Task
from runtime.turns import ledger_queries
from runtime.turns.rows import Turn, get_turn
from tests.properties.mortal import CountedIds, Died, MortalDatabase
from tests.properties.upstream import Mood, Upstream
from tests.support.databases import RungBells, Store
from tests.support.empty_database import lay_every_table
from workspace.assets import Assets
from workspace.works import file_output

FREE = Decimal("0.05")
"""A sound of three seconds is under it, one of ten above."""
OPENING = Decimal("0.60")


@dataclass
class TurnRun:
    """A run of a turn: `place` is `open`, `decide`, `call` or `close`."""

    id: str
    turn_id: str
    place: str = "open"
    n: int = 0
    seq: int = 0
    count: int = 0
    ends: bool = False


@dataclass
class OrderRun:
    """A run that follows an order."""

    order_id: str


Run = TurnRun | OrderRun


class PropertyWorld:
    """One workspace with an opening balance; `runs` are under way, `bells` were rung and may be heard again."""

    def __init__(self, folder: Path, upstream: Upstream) -> None:
        lay_every_table(folder / "properties.sqlite")
        self.store = Store(f"sqlite:///{folder / 'properties.sqlite'}")
        self.store.database.close()
        self.bells = RungBells()
        self.database = MortalDatabase(
            self.store.database.url, clock=self.store.clock, ids=CountedIds(), bells=self.bells
        )
        self.store.database = self.database
        self.upstream = upstream
        self.runs: list[Run] = []
        self._count = 0
        self._read: dict[str, list[sa.Row[Any]]] = {}
        self._read_at = 0
        self._fill()
        settings = Settings(home=folder, inngest_dev="1")
        self.dependencies = AppDependencies(
            settings=settings,
            clock=self.store.clock,
            inngest=make_inngest_client(settings),
            database=self.database,
            assets=Assets(f"file://{folder / 'assets'}"),
            model=ScriptedModel(),
            providers={upstream.provider.name: upstream.provider},
        )

    @property
    def ws(self) -> str:
        return self.store.workspace_id

    def _fill(self) -> None:
        self.store.fill()
        with self.database.transaction(self.ws) as scope:
            scope.change(
                scope.update(budgets).values(balance=OPENING, free_per_operation=FREE, free_per_day=Decimal(5))
            )
            scope.change(scope.update(entries).values(amount=OPENING))

    def read(self, look: Callable[[Scope], Any]) -> Any:
        with self.database.reading(self.ws) as scope:
            return look(scope)

    def write(self, act: Callable[[Scope], Any]) -> Any:
        with self.database.transaction(self.ws) as scope:
            return act(scope)

    def rows(self, table: sa.Table) -> list[sa.Row[Any]]:
        """All rows of a table, read once until something is written."""
        if self._read_at != self.database.begun:
            self._read.clear()
            self._read_at = self.database.begun
        if table.name not in self._read:
            self._read[table.name] = self.read(lambda scope: scope.rows(scope.select(table)))
        return self._read[table.name]

    def task(self) -> Task:
        self._count += 1
        cause = f"test:{self._count}"
        made: Task = self.write(
            lambda scope: tasks.create_task(
                scope, kind="persistent", goal="Sounds", language="en", person_id=self.store.person_id,
                asked_by="person", cause=cause,
            )
        )  # fmt: skip
        return made

    def say(self, task_id: str) -> Message:
        said: Message = self.write(
            lambda scope: messages.receive_message(
                scope, person_id=self.store.person_id, asked_by="person", channel_id=None, text="A sound, please",
                to_task_id=task_id,
            )
        )  # fmt: skip
        return said

    def cards(self) -> list[Card]:
        found: list[Card] = self.read(list_open_cards)
        return found

    def answer(self, card: Card, option: str) -> None:
        """A person's answer; a refusal or a conflict is one too."""
        try:
            self.write(
                lambda scope: answer_card(
                    scope, card.id, option, None, self.store.person_id, self.dependencies.card_answers
                )
            )
        except LoopwrightError:
            return

    def hear(self, n: int) -> None:
        """Whoever listens for a bell starts; the same bell may be heard again and again."""
        event = self.bells.rung[n].event
        match event:
            case TurnRequested(turn_id=turn_id):
                self._count += 1
                self.runs.append(TurnRun(f"run-{self._count}", turn_id))
            case GenerationOrdered(order_id=order_id) | GenerationNews(order_id=order_id):
                self.runs.append(OrderRun(order_id))
            case MessageReceived(message_id=message_id):
                self._route(message_id)
            case _:
                return

    def _route(self, message_id: str) -> None:
        dependencies = RouterDependencies(self.database, ScriptedModel(), RoutableWorks())
        picked = routing.pick_message(dependencies, self.ws, message_id)
        if picked is not None:
            assert picked["decided"], "a message with an address needs no verdict"
            dispatch.dispatch_message(dependencies, self.ws, picked["message_id"])

    def step(self, run: Run, said: Decision | LoopwrightError, mood: Mood, die_at: int | None = None) -> None:
        """The next step of a run. A process that dies in it leaves the run where it stands, as an engine would."""
        self.database.die_at(die_at)
        self.upstream.be(mood)
        try:
            over = self._turn(run, said) if isinstance(run, TurnRun) else self._order(run)
        except LostError:
            over = True
        except (BusyError, UnavailableError, Died):
            over = False
        finally:
            self.database.die_at(None)
            self.upstream.provider.forget()
        if over:
            self.runs.remove(run)

    def _turn(self, run: TurnRun, said: Decision | LoopwrightError) -> bool:
        model = ScriptedModel(said)
        parts = replace(self.dependencies.runtime, model=model)
        match run.place:
            case "open":
                first = entry.open_turn(parts, self.ws, run.turn_id, run.id)
                if isinstance(first, str):
                    return True
                run.place, run.n = "decide", first
            case "decide":
                stored = self.read(lambda scope: ledger_queries.find_step(scope, run.turn_id, run.n))
                try:
                    run.count = decide_step(parts, self.ws, run.turn_id, run.id, run.n).calls
                except ModelError as error:
                    turn_end.fail_turn(parts, self.ws, run.turn_id, run.id, str(error))
                    return True
                finally:
                    assert stored is None or not model.requests, "a stored decision was asked for again"
                run.place, run.seq = ("call" if run.count else "close"), 0
            case "call":
                called = tool_call.run_call(parts, self.ws, run.turn_id, run.id, run.n, run.seq)
                run.ends, run.seq = run.ends or called.ends, run.seq + 1
                if run.seq == run.count:
                    run.place, run.n = ("close", run.n) if run.ends else ("decide", run.n + 1)
            case "close":
                turn_end.close_turn(parts, self.ws, run.turn_id, run.id)
                return True
        return False

    def _order(self, run: OrderRun) -> bool:
        found = poll_order(self.dependencies, self.ws, run.order_id)
        if found.next == "settle":
            found = settle_order(self.dependencies, file_output, self.ws, run.order_id)
        return found.next == "end"

    def callback(self, news: JobNews) -> None:
        def take() -> None:
            try:
                record_callback(self.dependencies, self.upstream.provider.name, {}, b"{}")
            except LoopwrightError:
                # A job that no order is known to have yet: the provider may send it again.
                return

        self.upstream.callback(news, take)

    def watch(self) -> None:
        runtime = self.dependencies.runtime
        recovery.recover_workspace(self.database, self.ws, runtime.pause, runtime.patience)
        for look in self.dependencies.watch_passes:
            look(self.ws)

    def turn(self, turn_id: str) -> Turn:
        found: Turn = self.read(lambda scope: get_turn(scope, turn_id))
        return found

    def close(self) -> None:
        self.database.close()


def decision(calls: Sequence[tuple[str, str]]) -> Decision:
    return says("" if calls else "Done.", *calls)
