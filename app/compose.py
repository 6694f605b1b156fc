"""The composition root: the only place that puts concrete classes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

import inngest

from app.clients import make_inngest_client, make_model, make_providers, make_search, open_database
from app.plugins import load_plugin_tools
from core.clock import Clock
from core.database import Database
from core.llm.port import Model
from core.orchestrator.engine import Engine
from core.orchestrator.run_history import RunHistory
from core.search import index_sync
from core.search.dependencies import SearchDependencies
from core.settings import Settings
from core.tools import Tool
from functions.routable_works import RoutableWorks
from functions.watch import WatchPass
from generation.approval.answers import order_card_answers
from generation.approval.place import PlacementDependencies
from generation.execution import recovery as order_recovery
from generation.orders.order import list_open_order_ids
from generation.providers.capabilities import Capabilities
from generation.providers.port import Provider
from generation.tools import (
    ListModels,
    budget_state,
    generation_tools,
    is_settled_order,
    orders_of_call,
    orders_state,
    outcome_input,
)
from memory import readings
from memory import watching as memory_watching
from memory.card_answers import MEMORY_CARD_ANSWERS
from memory.dependencies import MemoryDependencies
from memory.tools import memory_tools
from router.clarification import clarify_card_answers
from runtime import retention
from runtime.cards.answers import CardAnswers
from runtime.commands.card_answers import RUNTIME_CARD_ANSWERS
from runtime.dependencies import InputSources, RuntimeDependencies
from runtime.statuses import InputKind
from runtime.tools.lookup import CheckCall, ListTasks, ReadBack, ReadTask
from runtime.tools.plan import CreateChecklist, Finish, SetBrief, UpdateChecklist
from runtime.tools.question import AskUser
from skills import retention as skill_pruning
from skills.book import versions as skill_effects
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.lifecycle import authors
from skills.review import reviews as review_watching
from skills.review.dependencies import ReviewDependencies
from skills.tools import AgentSkillFolder, skill_tools
from workspace import objects
from workspace.assets import Assets
from workspace.deleting import WORKSPACE_CARD_ANSWERS
from workspace.reading_tools import ListObjects, ReadObject
from workspace.state import (
    describe_object,
    is_object_of_task,
    object_input,
    objects_state,
    version_of,
    versions_of_call,
)
from workspace.tools import workspace_tools

_TASK_SOURCES = (orders_state, objects_state)
"""What `read_task` tells of a task beside the runtime's own rows."""


@dataclass(frozen=True)
class AppDependencies:
    """Everything a process is made of. Creating it opens nothing: connections and threads start at first use."""

    settings: Settings
    clock: Clock
    inngest: inngest.Inngest
    database: Database
    assets: Assets
    model: Model
    providers: Mapping[str, Provider]

    @cached_property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.providers, self.clock)

    @cached_property
    def runs(self) -> RunHistory:
        return RunHistory.of(Engine.of(self.settings))

    @cached_property
    def card_answers(self) -> CardAnswers:
        return make_card_answers()

    @cached_property
    def runtime(self) -> RuntimeDependencies:
        """Dependencies of the turns. Raises SettingsError if an installed plug-in cannot be used."""
        task_tools, main_tools = self._task_tools(), self._main_tools()
        plugin_tools = load_plugin_tools(self.settings, {tool.name for tool in (*task_tools, *main_tools)})
        lease = timedelta(seconds=self.settings.lease_seconds)
        return RuntimeDependencies(
            database=self.database,
            model=self.model,
            task_tools=(*task_tools, *plugin_tools),
            main_tools=main_tools,
            state_sources=(orders_state, objects_state, budget_state),
            inputs=InputSources(
                {
                    InputKind.OUTCOME: outcome_input,
                    InputKind.OBJECT: object_input,
                    InputKind.SKILL: authors.read_refused_input,
                },
                describe_object,
            ),
            open_orders=list_open_order_ids,
            lease=lease,
            patience=lease,
            pause=timedelta(seconds=self.settings.watch_seconds),
            on_messages_read=readings.note_read,
        )

    @cached_property
    def memory(self) -> MemoryDependencies:
        return MemoryDependencies(
            self.database, self.model, self.search, quiet=timedelta(seconds=self.settings.memory_quiet_seconds)
        )

    @cached_property
    def search(self) -> SearchDependencies:
        return make_search(self.settings, self.database)

    @cached_property
    def watch_passes(self) -> tuple[WatchPass, ...]:
        """The recurring checks that each area of the product adds to the watch."""
        first_pause, patience = self.settings.poll_seconds, timedelta(seconds=self.settings.lease_seconds)
        kept = timedelta(days=self.settings.retention_days)
        return (
            lambda workspace_id: order_recovery.recover_orders(self.database, workspace_id, first_pause, patience),
            lambda workspace_id: review_watching.watch_reviews(self.database, workspace_id, patience),
            lambda workspace_id: retention.prune_workspace(self.database, workspace_id, kept),
            lambda workspace_id: skill_pruning.prune_skills(self.database, workspace_id, kept),
            lambda workspace_id: index_sync.mend_index(self.search, workspace_id),
            lambda workspace_id: memory_watching.watch_memory(self.database, workspace_id, patience),
        )

    @cached_property
    def review(self) -> ReviewDependencies:
        return ReviewDependencies(self.database, self.model, self.runs, self.settings.skill_repairs_per_day)

    def _main_tools(self) -> tuple[Tool, ...]:
        return (
            ListTasks(),
            ReadTask(_TASK_SOURCES),
            ReadObject(self.assets),
            ListObjects(),
            ListModels(self.capabilities),
            *memory_tools(self.search, self.memory.within),
        )

    def _task_tools(self) -> tuple[Tool, ...]:
        core: tuple[Tool, ...] = (
            SetBrief(),
            CreateChecklist(),
            UpdateChecklist({"object": is_object_of_task, "order": is_settled_order}),
            AskUser(),
            ReadTask(_TASK_SOURCES),
            ReadBack(),
            CheckCall((versions_of_call, orders_of_call, skill_effects.describe_call_versions)),
            Finish(),
        )
        placement = PlacementDependencies(self.capabilities, objects, self.settings.overrun_factor)
        skills = AgentSkillFolder(self.settings.home, self.settings.skill_path, self.settings.skill_edits_per_day)
        return (
            *core,
            *workspace_tools(self.assets),
            *generation_tools(placement),
            *skill_tools(skills, Engine.of(self.settings)),
            *memory_tools(self.search, self.memory.within),
        )


def make_card_answers() -> CardAnswers:
    """Return the handlers of all card answers."""
    return CardAnswers.of(
        RUNTIME_CARD_ANSWERS,
        SKILL_CARD_ANSWERS,
        MEMORY_CARD_ANSWERS,
        WORKSPACE_CARD_ANSWERS,
        order_card_answers(version_of),
        clarify_card_answers(RoutableWorks()),
    )


def compose_dependencies(settings: Settings) -> AppDependencies:
    """Build a process's dependencies. Raise SettingsError, or SchemaError if the schema is not this release's."""
    client = make_inngest_client(settings)
    database = open_database(settings, client)
    return AppDependencies(
        settings=settings,
        clock=database.clock,
        inngest=client,
        database=database,
        assets=Assets(settings.assets_url or f"file://{settings.home.resolve() / 'assets'}"),
        model=make_model(settings),
        providers=make_providers(settings),
    )
