"""The product's real parts, put together over a test's database and a scripted model."""

from __future__ import annotations

from pathlib import Path

from app.clients import make_inngest_client
from app.compose import AppDependencies
from core.llm.scripted_model import ScriptedModel
from core.settings import Settings, load_settings
from tests.support.databases import Store
from workspace.assets import Assets


def compose_parts(
    store: Store, model: ScriptedModel, folder: Path, settings: Settings | None = None
) -> AppDependencies:
    """Compose what a worker is made of, with every tool; works are kept in `folder`, and no provider is there."""
    settings = settings or load_settings(inngest_dev="1")
    return AppDependencies(
        settings=settings,
        clock=store.clock,
        inngest=make_inngest_client(settings),
        database=store.database,
        assets=Assets(f"file://{folder / 'assets'}"),
        model=model,
        providers={},
    )
