"""Make the clients that the settings name: engine, database, model, search and generation providers."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import inngest

from app.asset_addresses import AssetAddresses
from app.plugins import load_plugin_generators
from app.schema import check_schema
from app.session_secret import session_secret
from core.database import Database
from core.events import APP_ID
from core.llm.openai_model import OpenAIModel
from core.llm.port import Model
from core.orchestrator.bells import InngestBells
from core.orchestrator.engine import Engine
from core.orchestrator.remote_clock import clock_from_settings
from core.plugins import BUILT_IN_GENERATORS
from core.search.chroma import ChromaIndex
from core.search.dependencies import SearchDependencies
from core.search.embedders import best_embedder
from core.search.index import NoIndex
from core.settings import Settings, SettingsError
from generation.providers.jobs import InputAddress, JobsProvider
from generation.providers.port import Provider

OPENAI_URL = "https://api.openai.com/v1"
STANDIN_KEY = "offline"
STANDIN_MODEL = "standin-1"
_UNNAMED_MODEL = "default"
"""The model name sent to a server whose address is set without a model."""


def make_inngest_client(settings: Settings) -> inngest.Inngest:
    """Return the SDK's client for the attached engine: in production mode with a signing key, else in dev mode."""
    engine = Engine.of(settings)
    return inngest.Inngest(
        app_id=APP_ID,
        api_base_url=engine.api_url,
        event_api_base_url=engine.events_url,
        event_key=engine.event_key,
        signing_key=engine.signing_keys[0] if engine.keyed else None,
        is_production=engine.keyed,
    )


def open_database(settings: Settings, client: inngest.Inngest) -> Database:
    """Open the database with the attached engine's clock. Raise SchemaError if its schema is not this release's."""
    database = Database(settings.sql_url, clock=clock_from_settings(settings), bells=InngestBells(client))
    check_schema(database)
    return database


def make_model(settings: Settings) -> Model:
    """Return the model. Its client library is loaded by the first call."""
    return OpenAIModel(
        model=model_name(settings),
        api_key=settings.openai_api_key.get_secret_value() or STANDIN_KEY,
        base_url=settings.openai_base_url,
        fallback_model=settings.fallback_model,
        timeout_seconds=settings.model_timeout_seconds,
    )


def model_name(settings: Settings) -> str:
    """Return the model name sent with each call."""
    return settings.model or (STANDIN_MODEL if settings.offline_model else _UNNAMED_MODEL)


def make_search(settings: Settings, database: Database) -> SearchDependencies:
    """Return the search. It connects at its first use; without an index address it scans the database."""
    index = ChromaIndex(settings.vector_url) if settings.vector_url else NoIndex()
    return SearchDependencies(database, best_embedder(), index)


def make_providers(settings: Settings) -> Mapping[str, Provider]:
    """Return a provider for each name in LOOPWRIGHT_GENERATORS, in order.

    Raises SettingsError for an unknown name and for a plug-in that cannot be used.
    """
    plugged = load_plugin_generators(settings)
    return {name: plugged[name] if name in plugged else _make_built_in(name, settings) for name in settings.generators}


def _make_built_in(name: str, settings: Settings) -> Provider:
    if name not in BUILT_IN_GENERATORS:
        known = ", ".join(BUILT_IN_GENERATORS)
        raise SettingsError([f"LOOPWRIGHT_GENERATORS: {name!r} is none of {known} and no installed generator"])
    if name == "openai":
        # Imported only when chosen: this client takes longer to import than the rest of the product takes to start.
        from generation.providers.openai import OpenAIProvider  # noqa: PLC0415

        return OpenAIProvider(settings.openai_api_key, base_url=settings.openai_base_url or OPENAI_URL)
    return _make_jobs_provider(name, settings)


def _make_jobs_provider(name: str, settings: Settings) -> Provider:
    if not settings.jobs_url:
        raise SettingsError([f"LOOPWRIGHT_JOBS_URL: the generator {name!r} needs its address"])
    web_url = settings.web_url.rstrip("/")
    callback = f"{web_url}/api/v1/generations/callbacks/{name}" if web_url else ""
    return JobsProvider(
        name, settings.jobs_url, settings.jobs_key, callback_url=callback, address=_signed_addresses(settings)
    )


def _signed_addresses(settings: Settings) -> InputAddress | None:
    """Send inputs by address if the network can reach our web process; on loopback the bytes are sent themselves."""
    if urlsplit(settings.web_url).hostname in (None, "localhost", "127.0.0.1", "::1"):
        return None
    addresses = AssetAddresses(session_secret(settings.home))
    return lambda sha256, until: addresses.address(settings.web_url.rstrip("/"), sha256, until)
