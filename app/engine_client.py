"""Our client of the attached engine, and the database whose bells it rings."""

from __future__ import annotations

import inngest

from app.schema import check_schema
from core.database import Database
from core.events import APP_ID
from core.orchestrator.bells import InngestBells
from core.orchestrator.engine import Engine
from core.orchestrator.remote_clock import clock_from_settings
from core.settings import Settings


def make_client(settings: Settings) -> inngest.Inngest:
    """The SDK's client for the attached engine: production mode where there is a signing key, else dev."""
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
    """The database by the attached engine's clock. Raises SchemaError when it is not this release's."""
    database = Database(settings.sql_url, clock=clock_from_settings(settings), bells=InngestBells(client))
    check_schema(database)
    return database
